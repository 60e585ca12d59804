import type { Database } from "../../../platform/db/types.ts";

/** Installs that one statement looks at, each with up to 200 rows of its timeline. */
const BATCH = 100;

/** An ended install, in the order in which installs ended. */
export interface EndedInstall {
  installId: string;
  updatedAt: Date;
}

/**
 * Deletes those of the next installs that ended before a time that may go, with their timelines, calls and cloud
 * targets; returns how many, and the last one of the batch while there may be more. Installs that something was quoted
 * or paid for stay, and the latest of each organization and app, which the access of its members shows.
 */
export async function deleteEndedInstalls(
  database: Pick<Database, "prepared">,
  before: Date,
  after: EndedInstall | undefined,
): Promise<{ deleted: number; last: EndedInstall | undefined }> {
  const sql = `with batch as (
      select install_id, updated_at from installs where status = 'deprovisioned' and updated_at < $1
        and (updated_at, install_id) > ($2, $3::uuid) order by updated_at, install_id limit ${BATCH}),
    ended as materialized (
      select i.install_id from batch join installs i using (install_id)
      where exists (select 1 from installs later where later.org_uuid = i.org_uuid and later.app_id = i.app_id
          and (later.created_at, later.install_id) > (i.created_at, i.install_id))
        and not exists (select 1 from quotes q where q.install_id = i.install_id)
        and not exists (select 1 from subscriptions s where s.install_id = i.install_id)
        and not exists (select 1 from payments p where p.install_id = i.install_id)
      for update of i skip locked),
    events as (delete from install_timeline where install_id in (select install_id from ended)),
    calls as (delete from install_calls where install_id in (select install_id from ended)),
    targets as (delete from cloud_targets where install_id in (select install_id from ended)),
    gone as (delete from installs where install_id in (select install_id from ended) returning 1)
    select install_id as "installId", updated_at as "updatedAt", (select count(*)::int from batch) as size,
      (select count(*)::int from gone) as deleted
    from batch order by updated_at desc, install_id desc limit 1`;
  const [row] = await database.prepared<EndedInstall & { size: number; deleted: number }>("installs-tidy", sql, [
    before,
    after?.updatedAt ?? new Date(0),
    after?.installId ?? "00000000-0000-0000-0000-000000000000",
  ]);
  if (row === undefined) return { deleted: 0, last: undefined };
  return { deleted: row.deleted, last: row.size < BATCH ? undefined : row };
}
