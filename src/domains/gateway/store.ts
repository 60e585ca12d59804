import type { Database, Tx } from "../../platform/db/types.ts";

/** Default provider and monthly budget. */
export interface GatewayConfigRow {
  provider: string;
  /** US dollars, an exact decimal. */
  budgetUsd: string;
}

/** Models that requests are routed to. */
export interface RoutingConfigRow {
  slm: string;
  llm: string;
  autoEscalate: boolean;
}

/** An MCP server of an organization's own. */
export interface McpServerRow {
  id: string;
  name: string;
  /** `available`, `installed` or `disabled`. */
  status: string;
  installCommand: string;
}

/** An MCP server as organizations see it. */
export interface McpServer extends McpServerRow {
  /** Offered to every organization, and stored for none. */
  builtIn: boolean;
}

type Reader = Pick<Database, "prepared">;

/** Provider and budget of an organization; undefined before the first PUT. */
export async function findGatewayConfig(database: Reader, orgUuid: string): Promise<GatewayConfigRow | undefined> {
  const sql = `select provider, budget_usd::text as "budgetUsd" from ai_gateway_configs where org_uuid = $1`;
  return (await database.prepared<GatewayConfigRow>("gateway-config", sql, [orgUuid]))[0];
}

/** Stores provider and budget. */
export async function putGatewayConfig(tx: Tx, orgUuid: string, row: GatewayConfigRow, at: Date): Promise<void> {
  await tx.query(
    `insert into ai_gateway_configs (org_uuid, provider, budget_usd, updated_at) values ($1, $2, $3::text::numeric, $4)
     on conflict (org_uuid) do update
     set provider = excluded.provider, budget_usd = excluded.budget_usd, updated_at = excluded.updated_at`,
    [orgUuid, row.provider, row.budgetUsd, at],
  );
}

/** Models of an organization; undefined before the first PUT. */
export async function findRoutingConfig(database: Reader, orgUuid: string): Promise<RoutingConfigRow | undefined> {
  const sql = `select slm, llm, auto_escalate as "autoEscalate" from ai_routing_configs where org_uuid = $1`;
  return (await database.prepared<RoutingConfigRow>("gateway-routing", sql, [orgUuid]))[0];
}

/** Stores the models. */
export async function putRoutingConfig(tx: Tx, orgUuid: string, row: RoutingConfigRow, at: Date): Promise<void> {
  await tx.query(
    `insert into ai_routing_configs (org_uuid, slm, llm, auto_escalate, updated_at) values ($1, $2, $3, $4, $5)
     on conflict (org_uuid) do update set slm = excluded.slm, llm = excluded.llm,
       auto_escalate = excluded.auto_escalate, updated_at = excluded.updated_at`,
    [orgUuid, row.slm, row.llm, row.autoEscalate, at],
  );
}

/** MCP servers that an organization has added, at most `limit`. */
export function mcpServersOf(database: Reader, orgUuid: string, limit: number): Promise<McpServerRow[]> {
  return database.prepared<McpServerRow>(
    "gateway-mcp-servers",
    `select id, name, status, install_command as "installCommand" from mcp_servers where org_uuid = $1
     order by name limit $2`,
    [orgUuid, limit],
  );
}

/**
 * Stores an MCP server. The organization's row orders concurrent additions, so that none passes the limit.
 * Returns `exists` when the name is taken, `full` when the organization has `most` servers.
 */
export async function insertMcpServer(
  tx: Tx,
  orgUuid: string,
  row: McpServerRow,
  at: Date,
  most: number,
): Promise<"inserted" | "exists" | "full"> {
  await tx.query("select 1 from organizations where uuid = $1 for no key update", [orgUuid]);
  const [state] = await tx.query<{ count: number; taken: boolean }>(
    `select count(*)::int as count, coalesce(bool_or(name = $2), false) as taken from mcp_servers where org_uuid = $1`,
    [orgUuid, row.name],
  );
  if (state?.taken === true) return "exists";
  if ((state?.count ?? 0) >= most) return "full";
  await tx.query(
    `insert into mcp_servers (id, org_uuid, name, status, install_command, created_at)
     values ($1, $2, $3, $4, $5, $6)`,
    [row.id, orgUuid, row.name, row.status, row.installCommand, at],
  );
  return "inserted";
}

/** Deletes an MCP server; returns its name, undefined when there was none. */
export async function deleteMcpServer(tx: Tx, orgUuid: string, id: string): Promise<string | undefined> {
  const sql = "delete from mcp_servers where org_uuid = $1 and id = $2 returning name";
  return (await tx.query<{ name: string }>(sql, [orgUuid, id]))[0]?.name;
}
