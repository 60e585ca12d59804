import type { Database, Tx } from "../../../platform/db/types.ts";
import { columns, toRecord } from "../event-row.ts";
import type { EventRow } from "../event-row.ts";
import type { AuditRecord } from "../../audit-record/index.ts";

/** Key of the chain of events without an organization. */
const NO_ORGANIZATION = "00000000-0000-0000-0000-000000000000";

/** The key of an organization's chain. */
export const chainKey = (orgUuid: string | null): string => orgUuid ?? NO_ORGANIZATION;
/** The organization of a chain's key. */
export const chainOwner = (key: string): string | null => (key === NO_ORGANIZATION ? null : key);

/** The stored head of a chain: its last link, signed. */
export interface HeadRow {
  position: number;
  hash: string;
  signature: Buffer;
  kid: string;
  at: Date;
  seal: Buffer;
}

/** A link to store. */
export interface NewLink {
  position: number;
  eventSequence: string;
  eventId: string;
  createdAt: Date;
  payloadHash: string;
  hash: string;
}

/** A stored link; `event` is undefined when it was removed. */
export interface LinkRow {
  position: number;
  eventId: string;
  createdAt: Date;
  payloadHash: string;
  hash: string;
  purged: boolean;
  event: AuditRecord | undefined;
}

/**
 * Locks a chain against other transactions until this one ends. With `patient` it waits for the lock.
 * @returns false when another transaction holds it
 */
export async function lockChain(tx: Tx, key: string, patient: boolean): Promise<boolean> {
  const lock = "hashtextextended('audit/' || $1::uuid::text, 0)";
  if (!patient)
    return (
      (await tx.query<{ got: boolean }>(`select pg_try_advisory_xact_lock(${lock}) as got`, [key]))[0]?.got === true
    );
  await tx.query(`select pg_advisory_xact_lock(${lock})`, [key]);
  return true;
}

/** Events of a chain that are not linked yet, oldest first. */
export async function pendingEvents(
  tx: Tx,
  key: string,
  limit: number,
): Promise<{ sequence: string; event: AuditRecord | undefined }[]> {
  const sql = `select p.event_sequence as sequence, e.* from (
      select event_sequence from audit_pending where org_key = $1 order by event_sequence limit $2
    ) p left join lateral (select ${columns} from audit_events where sequence = p.event_sequence) e on true
    order by p.event_sequence`;
  const rows = await tx.query<EventRow & { sequence: string }>(sql, [key, limit]);
  return rows.map((row) => ({ sequence: row.sequence, event: row.event_id === null ? undefined : toRecord(row) }));
}

/** Chains that have events to link, in order, after one of them (null: from the first). */
export async function pendingChains(database: Database, after: string | null, limit: number): Promise<string[]> {
  const sql = `with recursive key as (
      (select org_key from audit_pending ${after === null ? "" : "where org_key > $2"} order by org_key limit 1)
      union all
      select (select org_key from audit_pending where org_key > key.org_key order by org_key limit 1)
      from key where key.org_key is not null
    ) select org_key from key where org_key is not null limit $1`;
  const name = after === null ? "audit_pending_chains" : "audit_pending_chains_after";
  const params = after === null ? [limit] : [limit, after];
  return (await database.prepared<{ org_key: string }>(name, sql, params)).map((row) => row.org_key);
}

/** The head of a chain; undefined while it is empty. */
export async function headOf(tx: Pick<Tx, "query">, key: string): Promise<HeadRow | undefined> {
  const sql =
    "select position, encode(hash, 'hex') as hash, signature, kid, at, seal from audit_heads where org_key = $1";
  return (await tx.query<HeadRow>(sql, [key]))[0];
}

/** Whether a chain has links beyond a position. */
export async function hasLinksBeyond(tx: Tx, key: string, position: number): Promise<boolean> {
  return (
    (await tx.query("select 1 from audit_links where org_key = $1 and position > $2 limit 1", [key, position])).length >
    0
  );
}

/** Adds links, counts their events, and removes `sequences` from the queue, which may include events without a link. */
export async function addLinks(
  tx: Tx,
  key: string,
  links: readonly NewLink[],
  sequences: readonly string[],
): Promise<void> {
  const list = <K extends keyof NewLink>(name: K): NewLink[K][] => links.map((link) => link[name]);
  await tx.query(
    `insert into audit_links (org_key, position, event_sequence, event_id, created_at, payload_hash, hash)
     select $1, l.position, l.event_sequence, l.event_id, l.created_at,
       decode(l.payload_hash, 'hex'), decode(l.hash, 'hex')
     from unnest($2::integer[], $3::bigint[], $4::uuid[], $5::timestamptz[], $6::text[], $7::text[])
       as l (position, event_sequence, event_id, created_at, payload_hash, hash)`,
    [
      key,
      list("position"),
      list("eventSequence"),
      list("eventId"),
      list("createdAt"),
      list("payloadHash"),
      list("hash"),
    ],
  );
  await tx.query("select audit_count($1::bigint[], 1)", [list("eventSequence")]);
  await tx.query("delete from audit_pending where org_key = $1 and event_sequence = any($2::bigint[])", [
    key,
    sequences,
  ]);
}

/** Stores the head of a chain. */
export async function putHead(
  tx: Tx,
  key: string,
  { position, hash, signature, kid, at, seal }: HeadRow,
): Promise<void> {
  await tx.query(
    `insert into audit_heads (org_key, position, hash, signature, kid, at, seal)
     values ($1, $2, decode($3, 'hex'), $4, $5, $6, $7)
     on conflict (org_key) do update set position = excluded.position, hash = excluded.hash,
       signature = excluded.signature, kid = excluded.kid, at = excluded.at, seal = excluded.seal`,
    [key, position, hash, signature, kid, at, seal],
  );
}

/** Links after a position with their events, in order. */
export async function linksAfter(
  database: Database,
  key: string,
  position: number,
  last: number,
  limit: number,
): Promise<LinkRow[]> {
  const sql = `select l.position, l.event_id as link_event_id, l.created_at as link_created_at,
      encode(l.payload_hash, 'hex') as payload_hash, encode(l.hash, 'hex') as hash,
      l.purged_at is not null as purged, e.*
    from (
      select * from audit_links where org_key = $1 and position > $2 and position <= $3 order by position limit $4) l
    left join lateral (select ${columns} from audit_events where sequence = l.event_sequence) e on true
    order by l.position`;
  type Row = EventRow & {
    position: number;
    link_event_id: string;
    link_created_at: Date;
    payload_hash: string;
    hash: string;
    purged: boolean;
  };
  const rows = await database.prepared<Row>("audit_links_after", sql, [key, position, last, limit]);
  return rows.map((row) => ({
    position: row.position,
    eventId: row.link_event_id,
    createdAt: row.link_created_at,
    payloadHash: row.payload_hash,
    hash: row.hash,
    purged: row.purged,
    event: row.event_id === null ? undefined : toRecord(row),
  }));
}

/** Links after a position without their events, in order. */
export async function bareLinksAfter(
  database: Database,
  key: string,
  position: number,
  last: number,
  limit: number,
): Promise<Omit<LinkRow, "event">[]> {
  const sql = `select position, event_id as "eventId", created_at as "createdAt",
      encode(payload_hash, 'hex') as "payloadHash", encode(hash, 'hex') as hash, purged_at is not null as purged
    from audit_links where org_key = $1 and position > $2 and position <= $3 order by position limit $4`;
  return database.prepared<Omit<LinkRow, "event">>("audit_bare_links_after", sql, [key, position, last, limit]);
}

/**
 * Positions of the first and the last event of a time range that was not purged, up to `upTo`; undefined when there is
 * none.
 */
export async function spanOf(
  database: Database,
  key: string,
  from: Date | undefined,
  to: Date | undefined,
  upTo: number | undefined,
): Promise<{ first: number; last: number } | undefined> {
  const links = "from audit_links where org_key = $1 and position <= $2 and purged_at is null";
  const whole = from === undefined && to === undefined;
  const sql = whole
    ? `select (select position ${links} order by position limit 1) as first,
        (select position ${links} order by position desc limit 1) as last`
    : `select min(position) as first, max(position) as last ${links} and created_at >= $3 and created_at < $4`;
  const time = whole ? [] : [from ?? "-infinity", to ?? "infinity"];
  const params = [key, upTo ?? 2 ** 31 - 1, ...time];
  const [row] = await database.prepared<{ first: number | null; last: number | null }>(
    whole ? "audit_span" : "audit_span_in",
    sql,
    params,
  );
  return row === undefined || row.first === null || row.last === null
    ? undefined
    : { first: row.first, last: row.last };
}

/**
 * The first event that is neither linked nor pending, among `limit` events after a place in the log; and the place
 * after them.
 */
export async function unlinkedAfter(
  database: Database,
  orgUuid: string,
  place: LogPlace,
  limit: number,
): Promise<{ eventId: string | null; next: LogPlace | undefined }> {
  const sql = `with page as materialized (
      select sequence, event_id, created_at from audit_events
      where org_uuid = $1 and (created_at, sequence) > ($2, $3) order by created_at, sequence limit $4
    ) select
      (select event_id from page where not exists (select from audit_links l where l.event_sequence = page.sequence)
        and not exists (select from audit_pending p where p.org_key = $1 and p.event_sequence = page.sequence)
        order by created_at, sequence limit 1) as event_id,
      created_at, sequence from page order by created_at desc, sequence desc limit 1`;
  const rows = await database.prepared<{ event_id: string | null; created_at: Date; sequence: string }>(
    "audit_unlinked",
    sql,
    [orgUuid, place.createdAt, place.sequence, limit],
  );
  const [row] = rows;
  return row === undefined
    ? { eventId: null, next: undefined }
    : { eventId: row.event_id, next: { createdAt: row.created_at, sequence: row.sequence } };
}

/** A place in an organization's log by time. */
export interface LogPlace {
  createdAt: Date;
  sequence: string;
}

/**
 * Removes linked events older than the organization's retention period, at most `most` (10,000); returns how many.
 */
export async function purgeOld(tx: Tx, orgUuid: string | null, most: number): Promise<number> {
  const rows = await tx.query<{ purged: number }>("select audit_purge($1, $2) as purged", [orgUuid, most]);
  return rows[0]?.purged ?? 0;
}

/** Keys of chains with events from before `before`, in order, after one of them (null: from the first). */
export async function oldChains(
  database: Database,
  after: string | null,
  before: Date,
  limit: number,
): Promise<string[]> {
  const sql = `select h.org_key from audit_heads h where ($1::uuid is null or h.org_key > $1)
    and exists (select from audit_links l where l.org_key = h.org_key and l.created_at < $2 and l.purged_at is null)
    order by h.org_key limit $3`;
  return (await database.prepared<{ org_key: string }>("audit_old_chains", sql, [after, before, limit])).map(
    (row) => row.org_key,
  );
}
