import { defineMigration } from "../platform/db/migrator.ts";

/**
 * How many apps are published, kept up by whatever changes apps: counting a hundred thousand of them takes longer than
 * a page.
 */
const size = `
  create table catalogue_size (
    one boolean primary key default true check (one),
    published bigint not null
  );
  insert into catalogue_size (published) select count(*) from apps where status = 'published';

  create function count_published_apps() returns trigger language plpgsql as $count$
  declare
    delta bigint := 0;
  begin
    if tg_op <> 'DELETE' then delta := delta + (select count(*) from after_rows where status = 'published'); end if;
    if tg_op <> 'INSERT' then delta := delta - (select count(*) from before_rows where status = 'published'); end if;
    if delta <> 0 then update catalogue_size set published = published + delta; end if;
    return null;
  end $count$;

  create trigger apps_inserted after insert on apps referencing new table as after_rows
    for each statement execute function count_published_apps();
  create trigger apps_updated after update on apps referencing old table as before_rows new table as after_rows
    for each statement execute function count_published_apps();
  create trigger apps_deleted after delete on apps referencing old table as before_rows
    for each statement execute function count_published_apps();
`;

const grants = "grant select, update on catalogue_size to atrium_app";

/** The size of the whole catalogue, at hand. */
export const catalogueSize = defineMigration("0017-catalogue-size", [size, grants]);
