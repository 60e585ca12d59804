import { defineMigration } from "../platform/db/migrator.ts";

/**
 * A text in lower case, for searches. The collation is named, since the database's own may fold ASCII alone, as `C`
 * does: PostgreSQL's from 17 on, before that ICU's, which alone knows the final sigma.
 */
const lowerCase = `
  do $do$
  declare
    folding text := (
      select quote_ident(collname) from pg_collation
      where collnamespace = 'pg_catalog'::regnamespace and collname in ('pg_c_utf8', 'und-x-icu', 'default')
      order by array_position(array['pg_c_utf8', 'und-x-icu', 'default'], collname::text) limit 1
    );
  begin
    execute format($make$
      create function lower_case(text text) returns text
        language sql immutable parallel safe
        return translate(lower(text collate pg_catalog.%s), 'ς', 'σ')
    $make$, folding);
  end $do$;
`;

/** Searches of lists without case, in every alphabet. */
export const lowerCaseOfLists = defineMigration("0112-lower-case", [lowerCase]);
