import { byText, createdAt, readList } from "../../platform/db/list.ts";
import type { Listed } from "../../platform/db/list.ts";
import type { Page } from "../../platform/db/paging.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { MAX_CONNECTIONS } from "./rules.ts";

/** A connection to an identity provider. */
export interface Connection {
  uuid: string;
  orgUuid: string;
  name: string;
  provider: string;
  clientId: string;
  /** Sealed. */
  clientSecret: Buffer;
  discoveryUrl: string;
  allowedDomains: string[];
  redirectUris: string[];
  createdAt: Date;
}

/** Columns of a {@link Connection}, of `oidc_connections c`. */
export const CONNECTION_COLUMNS = `c.uuid, c.org_uuid as "orgUuid", c.name, c.provider, c.client_id as "clientId",
  c.client_secret as "clientSecret", c.discovery_url as "discoveryUrl", c.allowed_domains as "allowedDomains",
  c.redirect_uris as "redirectUris", c.created_at as "createdAt"`;

/** Stores a connection. */
export async function insertConnection(tx: Tx, one: Connection): Promise<void> {
  await tx.query(
    `insert into oidc_connections (uuid, org_uuid, name, provider, client_id, client_secret, discovery_url,
       allowed_domains, redirect_uris, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)`,
    [
      one.uuid,
      one.orgUuid,
      one.name,
      one.provider,
      one.clientId,
      one.clientSecret,
      one.discoveryUrl,
      one.allowedDomains,
      one.redirectUris,
      one.createdAt,
    ],
  );
}

/** Number of connections of an organization. */
export async function countConnections(tx: Tx, orgUuid: string): Promise<number> {
  const sql = "select count(*)::int as count from oidc_connections where org_uuid = $1";
  return (await tx.query<{ count: number }>(sql, [orgUuid]))[0]?.count ?? 0;
}

/** Connections of an organization, newest first. */
export function connectionsOf(
  database: Pick<Database, "prepared">,
  orgUuid: string,
  page: Page,
): Promise<Listed<Connection>> {
  const from = "from oidc_connections c where c.org_uuid = $1";
  const sort = { created_at: createdAt("c."), name: byText("c.name") };
  const id = { sql: "c.uuid", type: "uuid" } as const;
  const list = {
    name: "oidc_connections",
    columns: CONNECTION_COLUMNS,
    from,
    params: [orgUuid],
    id,
    q: ["c.name"],
    sort,
  };
  return readList(database, { ...list, order: "-created_at" }, page);
}

/** Connections of an organization that may send browsers to a URI, by name: without a list, the only one is allowed. */
export async function connectionsTo(
  database: Pick<Database, "prepared">,
  orgUuid: string,
  uri: string,
): Promise<{ uuid: string; name: string }[]> {
  const sql = `select uuid, name from oidc_connections
    where org_uuid = $1 and ($2 = any(redirect_uris) or cardinality(redirect_uris) = 0)
    order by name, created_at, uuid limit ${MAX_CONNECTIONS}`;
  return database.prepared<{ uuid: string; name: string }>("oidc_connections_to", sql, [orgUuid, uri]);
}

/** A connection of a live organization. */
export async function findConnection(
  database: Pick<Database, "prepared">,
  uuid: string,
): Promise<Connection | undefined> {
  const sql = `select ${CONNECTION_COLUMNS} from oidc_connections c
    join organizations o on o.uuid = c.org_uuid and o.deleted_at is null where c.uuid = $1`;
  return (await database.prepared<Connection>("oidc_connection_one", sql, [uuid]))[0];
}

/** A connection of an organization, locked until the transaction ends. */
export async function lockConnection(tx: Tx, orgUuid: string, uuid: string): Promise<Connection | undefined> {
  const sql = `select ${CONNECTION_COLUMNS} from oidc_connections c where c.org_uuid = $1 and c.uuid = $2 for update`;
  return (await tx.query<Connection>(sql, [orgUuid, uuid]))[0];
}

/** A connection as it is when a session token is redeemed; it is not deleted before the transaction ends. */
export async function keepConnection(tx: Tx, uuid: string): Promise<Connection | undefined> {
  const sql = `select ${CONNECTION_COLUMNS} from oidc_connections c where c.uuid = $1 for share`;
  return (await tx.query<Connection>(sql, [uuid]))[0];
}

/** Stores what a connection has become. */
export async function updateConnection(tx: Tx, one: Connection, at: Date): Promise<void> {
  const sql = `update oidc_connections set name = $2, client_secret = $3, allowed_domains = $4, redirect_uris = $5,
      updated_at = $6 where uuid = $1`;
  await tx.query(sql, [one.uuid, one.name, one.clientSecret, one.allowedDomains, one.redirectUris, at]);
}

/** Deletes every connection of an organization, with what {@link deleteConnection} deletes; returns them. */
export async function deleteConnectionsOf(
  tx: Tx,
  orgUuid: string,
): Promise<Pick<Connection, "uuid" | "orgUuid" | "name">[]> {
  const sql = `delete from oidc_connections where org_uuid = $1 returning uuid, org_uuid as "orgUuid", name`;
  return tx.query<Pick<Connection, "uuid" | "orgUuid" | "name">>(sql, [orgUuid]);
}

/** Deletes a connection, with the sign-ins under way, the tokens not redeemed and the links. */
export async function deleteConnection(tx: Tx, uuid: string): Promise<void> {
  await tx.query("delete from oidc_connections where uuid = $1", [uuid]);
}
