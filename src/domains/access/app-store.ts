import { presentMs } from "../../platform/db/time.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { certain } from "../../platform/narrow.ts";

/** Most apps named for one person, the newest. An owner's power over older ones is decided by the app all the same. */
const MOST_OWN_APPS = 1_000;

/** Apps of an organization, as tokens of one of its members name them. */
export interface AppClaims {
  /** Slugs of those it has installed and active. */
  installed: string[];
  /** Ids of those the member administers by a grant. */
  granted: string[];
  /** Ids of those it publishes. */
  published: string[];
  /** When they were read, milliseconds since the epoch. */
  at: number;
}

/** Selects the slugs of the apps that an organization, named by an expression, has installed and active. */
const activeSlugsOf = (orgUuid: string): string => `select a.slug from installs i join apps a using (app_id)
  where i.org_uuid = ${orgUuid} and i.status = 'active' order by a.slug`;

/**
 * The apps of an organization that a new token of a member names; one statement, since every new token needs it.
 * @param now a time of `databaseMs`
 */
export async function appClaims(
  tx: Pick<Tx, "query">,
  orgUuid: string,
  userUuid: string,
  now: number | null,
): Promise<AppClaims> {
  const sql = `select
      array(${activeSlugsOf("$1")}) as installed,
      array(select app_id::text from (select g.app_id, g.created_at from app_admins g join apps a using (app_id)
        where g.user_uuid = $2 and a.org_uuid = $1 order by g.created_at desc limit ${MOST_OWN_APPS}) n
        order by created_at) as granted,
      array(select app_id::text from (select app_id, created_at from apps
        where org_uuid = $1 order by created_at desc limit ${MOST_OWN_APPS}) n order by created_at) as published,
      ${presentMs("$3")}::double precision as at`;
  const [row] = await tx.query<AppClaims & object>(sql, [orgUuid, userUuid, now]);
  return certain(row, "row of an organization's apps");
}

/** Slugs of the apps an organization has installed and active. */
export async function activeAppSlugs(database: Pick<Database, "prepared">, orgUuid: string): Promise<string[]> {
  const sql = activeSlugsOf("$1");
  return (await database.prepared<{ slug: string }>("access_active_apps", sql, [orgUuid])).map(({ slug }) => slug);
}

const ENTITLEMENTS = `select plans.features || array(
    select 'app:' || slug from (${activeSlugsOf("o.uuid")}) installed) as entitlements
  from organizations o join plans using (plan) where o.uuid = $1`;

/** The entitlements of an organization now (decisions 3.12): features of its plan, and its active apps. */
export async function entitlementsOf(database: Pick<Database, "prepared">, orgUuid: string): Promise<string[]> {
  const [row] = await database.prepared<{ entitlements: string[] }>("access_entitlements", ENTITLEMENTS, [orgUuid]);
  return row?.entitlements ?? [];
}

/** The same, as a transaction leaves them. */
export async function entitlementsIn(tx: Pick<Tx, "query">, orgUuid: string): Promise<string[]> {
  const [row] = await tx.query<{ entitlements: string[] }>(ENTITLEMENTS, [orgUuid]);
  return row?.entitlements ?? [];
}

/** Slugs of apps, in any order. */
export async function slugsOf(database: Pick<Database, "prepared">, appIds: readonly string[]): Promise<string[]> {
  const sql = "select slug from apps where app_id = any($1::uuid[])";
  return (await database.prepared<{ slug: string }>("app-slugs", sql, [appIds])).map(({ slug }) => slug);
}

/** An app as entitlement checks see it. */
export interface AppFacts {
  slug: string;
  appId: string;
  /** The caller's grant of app administration; null for owners of the publishing organization, who need none. */
  grantId: string | null;
  /** Active install of the caller's organization; null where it has none (any more). */
  installId: string | null;
}

/** The apps of these slugs, with the grant a person has of each and the active install of an organization. */
export function factsOf(
  database: Pick<Database, "prepared">,
  slugs: readonly string[],
  userUuid: string | null,
  orgUuid: string | null,
): Promise<AppFacts[]> {
  const sql = `select a.slug, a.app_id as "appId", g.grant_id as "grantId", i.install_id as "installId"
    from apps a
    left join app_admins g on g.app_id = a.app_id and g.user_uuid = $2
    left join installs i on i.app_id = a.app_id and i.org_uuid = $3 and i.status = 'active'
    where a.slug = any($1)`;
  return database.prepared("app-facts", sql, [slugs, userUuid, orgUuid]);
}

/** The app claims of a token, and its holder. */
export interface AppsOfToken {
  claimed: readonly string[];
  /** The token does not contain all of the apps its holder had been granted when it was issued. */
  isTruncated: boolean;
  /** Milliseconds since the epoch. */
  issuedAtMs: number;
  orgUuid: string | null;
  userUuid: string;
  isOwner: boolean;
}

/**
 * Apps a token opens now, oldest first: its claims, but for apps whose signing key was rotated since (decisions 6.5),
 * all that an owner's organization publishes, and what its holder made since the token was issued (decisions 9.1). For
 * a truncated token, also the grants that were there when it was issued.
 */
export async function appsOfToken(database: Pick<Database, "identifying">, token: AppsOfToken): Promise<string[]> {
  const sql = `select app_id as "appId" from (
      select app_id, created_at from apps
        where app_id = any($1::uuid[]) and (key_rotated_at is null or key_rotated_at < $2)
      union
      (select app_id, created_at from apps
        where org_uuid = $3 and ($5 or (created_by = $4 and created_at >= $2 and key_rotated_at is null))
        order by created_at desc limit ${MOST_OWN_APPS})
      union
      (select a.app_id, a.created_at from app_admins g join apps a using (app_id)
        where $6 and g.user_uuid = $4 and a.org_uuid = $3 and g.created_at <= $2
          and (a.key_rotated_at is null or a.key_rotated_at < $2)
        order by g.created_at desc limit ${MOST_OWN_APPS})
    ) found order by created_at, app_id`;
  const { claimed, isTruncated, issuedAtMs, orgUuid, userUuid, isOwner } = token;
  const rows = await database.identifying<{ appId: string }>("apps-of-token", sql, [
    claimed,
    new Date(issuedAtMs),
    orgUuid,
    userUuid,
    isOwner,
    isTruncated,
  ]);
  return rows.map((row) => row.appId);
}

/** The organization that publishes an app; undefined for an unknown one. */
export async function publisherOf(database: Pick<Database, "prepared">, appId: string): Promise<string | undefined> {
  const sql = `select org_uuid as "orgUuid" from apps where app_id = $1`;
  return (await database.prepared<{ orgUuid: string }>("app-owner", sql, [appId]))[0]?.orgUuid;
}

/** An app, and the newest install of it in one organization. */
export interface AppWithInstall {
  orgUuid: string;
  status: string;
  /** Null where the organization never installed it. */
  installId: string | null;
  installStatus: string | null;
}

/** An app and the newest install of it in an organization; undefined for an unknown app. */
export async function appWithInstall(
  database: Pick<Database, "prepared">,
  appId: string,
  orgUuid: string | null,
): Promise<AppWithInstall | undefined> {
  const sql = `select a.org_uuid as "orgUuid", a.status, i.install_id as "installId", i.status as "installStatus"
    from apps a left join lateral (
      select install_id, status from installs where org_uuid = $2 and app_id = a.app_id order by created_at desc limit 1
    ) i on true
    where a.app_id = $1`;
  return (await database.prepared<AppWithInstall>("access_app", sql, [appId, orgUuid]))[0];
}

/**
 * Whether a person administers an app: as an owner of its organization, or by a grant where the app's signing key was
 * not rotated since `issued` (null: however often it was rotated). Ending a grant and rotating the key lock the app
 * first, so the result holds until the transaction ends; the end of a membership is the caller's own.
 */
export async function isAdministrator(
  tx: Pick<Tx, "query">,
  appId: string,
  userUuid: string,
  issued: Date | null,
): Promise<boolean> {
  const [apps, grants, owners] = await Promise.all([
    tx.query(
      `select 1 from apps
       where app_id = $1 and ($2::timestamptz is null or key_rotated_at is null or key_rotated_at < $2) for share`,
      [appId, issued],
    ),
    tx.query("select 1 from app_admins where app_id = $1 and user_uuid = $2", [appId, userUuid]),
    tx.query(
      `select 1 from apps a join memberships m using (org_uuid)
       where a.app_id = $1 and m.user_uuid = $2 and m.is_owner and m.status = 'active'`,
      [appId, userUuid],
    ),
  ]);
  return owners.length > 0 || (apps.length > 0 && grants.length > 0);
}

/** The person who made an API key, or the key it was made with; undefined where a service identity did. */
export async function makerOfKey(tx: Pick<Tx, "query">, keyId: string): Promise<string | undefined> {
  const sql = `select made_by as "madeBy" from api_keys where key_id = $1 and made_by is not null`;
  return (await tx.query<{ madeBy: string }>(sql, [keyId]))[0]?.madeBy;
}
