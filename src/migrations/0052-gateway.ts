import { grantApp } from "../platform/db/grants.ts";
import { defineMigration } from "../platform/db/migrator.ts";

// Money is an exact decimal. A setting that was never made has no row.
const tables = `
  create table ai_gateway_configs (
    org_uuid uuid primary key references organizations (uuid),
    provider text not null,
    budget_usd numeric(12, 2) not null check (budget_usd >= 0),
    updated_at timestamptz not null
  );
  create table ai_routing_configs (
    org_uuid uuid primary key references organizations (uuid),
    slm text not null,
    llm text not null,
    auto_escalate boolean not null,
    updated_at timestamptz not null
  );
  create table mcp_servers (
    id uuid primary key,
    org_uuid uuid not null references organizations (uuid),
    name text not null,
    status text not null check (status in ('available', 'installed', 'disabled')),
    install_command text not null,
    created_at timestamptz not null,
    unique (org_uuid, name)
  );
`;

/** Settings of the AI gateway and MCP servers (decisions 10.12). */
export const gatewayTables = defineMigration("0052-gateway", [
  tables,
  grantApp("ai_gateway_configs", "ai_routing_configs", "mcp_servers"),
]);
