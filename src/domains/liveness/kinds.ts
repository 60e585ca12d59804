import type { ApiKeyRow, AutomationTokenRow, LiveRow, OpaqueRow, SessionRow, SvidRow } from "./rows.ts";
import { ended, entitlements, identity, organization } from "./sql.ts";
import { certain } from "../../platform/narrow.ts";

/** Subject of changes of the instance itself, such as its signing key. */
const INSTANCE = "00000000-0000-0000-0000-000000000000";

/** One kind of credential: how its live ones are read, and what they depend on. */
export interface Kind<Row extends LiveRow> {
  /**
   * SQL that returns a row for each live credential among `asked`, a FROM item `q` with the columns `id` (uuid),
   * `detail` (text) and `n`. `at` is the present time. Every step is a look-up by primary key or unique index, and
   * `limit 1` keeps the planner from any other plan: statistics of a young table would have it read all of a table,
   * and a prepared plan would stay that way for a while.
   */
  rows(asked: string, at: string): string;
  /**
   * The subjects of `liveness_changes` that tell of a change of this row. A trigger on every table that `rows` reads
   * writes them, in the transaction of the change. Undefined for a row that is too large to be kept.
   */
  dependsOn(row: Row, id: string): readonly string[] | undefined;
}

/** Longest list in a row that is kept: 50,000 rows are. */
const MAX_KEPT = 50;
const unlessLong = (subjects: readonly string[], ...lists: readonly (readonly string[])[]) =>
  lists.some(({ length }) => length > MAX_KEPT) ? undefined : subjects;

const kind = <Row extends LiveRow>(definition: Kind<Row>): Kind<Row> => definition;

/**
 * Every kind of credential that a request may present. All are checked on every request, by the same batched query; a
 * new kind is a row here, with triggers for what it depends on (CONTRIBUTING.md, How to add a kind of credential).
 * Certificates of an organization's authority are no kind: they make no caller (decisions 7.4). SVIDs, which do, are.
 */
export const KINDS = {
  // `id` is the session, `detail` the key that signed the token. The status of the membership is checked outside: an
  // index over organization and status would do as well while the table is small, and very badly once an organization
  // is large.
  session: kind<SessionRow>({
    rows: (asked, at) => `
      select q.n::int as n, s.user_uuid, s.org_uuid, p.email, o.name as org_name, m.is_owner,
        m.version as membership_version, p.is_superuser, p.is_operator,
        (extract(epoch from a.newest) * 1000)::bigint as newest_app,
        ${ended("least(s.expires_at, k.valid_until)")} as until
      from ${asked}
      cross join lateral (
        select user_uuid, org_uuid, expires_at from sessions
        where uuid = q.id and revoked_at is null and expires_at > ${at} limit 1) s
      cross join lateral (
        select valid_until from signing_keys where kid = q.detail and org_uuid is not distinct from s.org_uuid
          and (valid_until is null or valid_until > ${at}) limit 1) k
      cross join lateral (
        select email, is_superuser, is_operator from people where uuid = s.user_uuid limit 1) p
      left join lateral (
        select is_owner, version, status from memberships
        where org_uuid = s.org_uuid and user_uuid = s.user_uuid limit 1) m on m.status = 'active'
      left join lateral (
        select name from organizations where uuid = s.org_uuid and deleted_at is null limit 1) o on true
      left join lateral (
        select max(created_at) as newest from apps where org_uuid = s.org_uuid) a on true
      where s.org_uuid is null or (m.version is not null and o.name is not null)`,
    dependsOn: (row, sid) => [sid, row.user_uuid, row.org_uuid ?? INSTANCE],
  }),

  // Within the present power of its maker, a member or a service identity.
  api_key: kind<ApiKeyRow>({
    rows: (asked, at) => `
      select q.n::int as n, k.org_uuid, o.name as org_name, encode(k.hash, 'hex') as hash, k.scopes, k.made_by,
        k.made_by_identity, coalesce(m.version, i.version) as maker_version, coalesce(m.is_owner, false) as is_owner,
        r.name as role, coalesce(p.is_platform_admin, false) as is_platform_admin, o.sandbox,
        ${entitlements("k.org_uuid", "o.features")} as entitlements,
        array(select app_id from (
          (select g.app_id, g.created_at from app_admins g join apps a using (app_id)
            where g.user_uuid = k.made_by and a.org_uuid = k.org_uuid order by g.created_at desc limit 1000)
          union
          (select app_id, created_at from apps where m.is_owner and org_uuid = k.org_uuid
            order by created_at desc limit 1000)) administered
          group by app_id order by min(created_at), app_id) as app_admin,
        ${ended("k.expires_at")} as until
      from ${asked}
      cross join lateral (
        select org_uuid, hash, scopes, made_by, made_by_identity, expires_at from api_keys
        where key_id = q.id and revoked_at is null and expires_at > ${at} limit 1) k
      left join lateral (
        select is_owner, version, status, role_id from memberships
        where org_uuid = k.org_uuid and user_uuid = k.made_by limit 1) m on m.status = 'active'
      left join lateral (select is_platform_admin from people where uuid = k.made_by limit 1) p on true
      left join lateral (
        select version, role_id from service_identities
        where identity_id = k.made_by_identity and deleted_at is null limit 1) i on true
      cross join lateral (select name from roles where id = coalesce(m.role_id, i.role_id) limit 1) r
      ${organization("k.org_uuid")}`,
    dependsOn: (row, keyId) =>
      unlessLong(
        [keyId, certain(row.made_by ?? row.made_by_identity, "maker of an API key"), row.org_uuid],
        row.app_admin,
        row.entitlements,
        row.scopes,
      ),
  }),

  scim_token: kind<OpaqueRow>({
    rows: (asked, at) => `
      select q.n::int as n, t.org_uuid, o.name as org_name, encode(t.hash, 'hex') as hash,
        ${ended("t.expires_at")} as until
      from ${asked}
      cross join lateral (
        select org_uuid, hash, expires_at from scim_tokens
        where token_id = q.id and revoked_at is null and expires_at > ${at} limit 1) t
      ${organization("t.org_uuid")}`,
    dependsOn: (row, tokenId) => [tokenId, row.org_uuid],
  }),

  automation_token: kind<AutomationTokenRow>({
    rows: (asked, at) => `
      select q.n::int as n, ${identity.columns}, encode(t.hash, 'hex') as hash, ${ended("t.expires_at")} as until
      from ${asked}
      cross join lateral (
        select identity_id, hash, expires_at from automation_tokens
        where token_id = q.id and revoked_at is null and expires_at > ${at} limit 1) t
      ${identity.joins("t.identity_id")}`,
    dependsOn: (row, tokenId) => unlessLong([tokenId, row.identity_id, row.org_uuid], row.entitlements),
  }),

  // `id` is the organization whose root issued it, `detail` its serial number. That it is valid already was checked
  // when the connection presented it.
  svid: kind<SvidRow>({
    rows: (asked, at) => `
      select q.n::int as n, ${identity.columns}, t.svid_id, t.spiffe_id,
        ${ended("least(t.not_after, root.expires_at)")} as until
      from ${asked}
      cross join lateral (
        select svid_id, identity_id, spiffe_id, not_after from svids
        where org_uuid = q.id and serial = q.detail and revoked_at is null and not_after > ${at} limit 1) t
      cross join lateral (
        select expires_at from spiffe_roots where org_uuid = q.id and expires_at > ${at} limit 1) root
      ${identity.joins("t.identity_id")}
      where i.org_uuid = q.id`,
    dependsOn: (row) => unlessLong([row.svid_id, row.identity_id, row.org_uuid], row.entitlements),
  }),
} as const;

/** Name of a kind of credential. */
export type KindName = keyof typeof KINDS;
/** What is read of the live credentials of a kind. */
export type RowOf<K extends KindName> = (typeof KINDS)[K] extends Kind<infer Row> ? Row : never;
