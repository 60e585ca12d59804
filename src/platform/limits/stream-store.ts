import { isReleased } from "../db/index.ts";
import type { Database } from "../db/types.ts";

/** Streams of one principal at one instance. */
export interface Holding {
  /** Hash of the principal. */
  id: Buffer;
  /** Id of the instance's liveness lock. */
  instance: string;
  streams: number;
}

const others = `jsonb_each_text(o.holders) as h (instance, streams)
  where h.instance <> $2 and not ${isReleased("h.instance::bigint")}`;
const held = `coalesce((select jsonb_object_agg(h.instance, h.streams::int) from ${others}), '{}')
  || jsonb_build_object($2::text, $3::int)`;
const setSql = `insert into open_streams as o (id, holders) values ($1, jsonb_build_object($2::text, $3::int))
  on conflict (id) do update set holders = ${held}`;
const claimSql = `${setSql}
  where $3::int + coalesce((select sum(h.streams::int) from ${others}), 0) <= $4::int returning 1 as granted`;
const deleteSql = `delete from open_streams where id = $1 and holders - $2::text = '{}' returning 1 as one`;
const clearSql = `update open_streams set holders = holders - $2::text where id = $1
  returning holders = '{}' as "isEmpty"`;
const purgeSql = `delete from open_streams where id in (
    select id from open_streams o
    where not exists (select 1 from jsonb_object_keys(o.holders) h where not ${isReleased("h::bigint")})
    limit 2000 for update skip locked)
  returning 1 as one`;

type Prepared = Pick<Database, "prepared">;

/** Sets the streams of one instance; false when all living ones together would have more than `most`. */
export async function claimStreams({ prepared }: Prepared, holding: Holding, most: number): Promise<boolean> {
  const { id, instance, streams } = holding;
  return (await prepared("open-streams-claim", claimSql, [id, instance, streams, most])).length === 1;
}

/** Sets the streams of one instance, whatever the others have. */
export async function setStreams(database: Prepared, { id, instance, streams }: Holding): Promise<void> {
  if (streams === 0) await clearStreams(database, id, instance);
  else await database.prepared("open-streams-set", setSql, [id, instance, streams]);
}

/** Removes one instance from a row, and the row with the last. */
async function clearStreams({ prepared }: Prepared, id: Buffer, instance: string): Promise<void> {
  const remove = () => prepared("open-streams-delete", deleteSql, [id, instance]);
  if ((await remove()).length > 0) return;
  const [row] = await prepared<{ isEmpty: boolean }>("open-streams-clear", clearSql, [id, instance]);
  // Two instances that leave at once each saw the other.
  if (row?.isEmpty === true) await remove();
}

/** Deletes a batch of rows whose instances have all ended; returns how many. */
export async function deleteOrphanedStreams({ prepared }: Prepared): Promise<number> {
  return (await prepared("open-streams-purge", purgeSql, [])).length;
}
