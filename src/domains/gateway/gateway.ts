import { callerOrg } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Clock } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import type { Database } from "../../platform/db/types.ts";
import type { Random } from "../../platform/random.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import { BUILT_IN_SERVERS } from "./built-in.ts";
import { gatewayErrors } from "./errors.ts";
import { budgetText, MAX_MCP_SERVERS, PROVIDERS } from "./rules.ts";
import * as store from "./store.ts";
import type { McpServer, McpServerRow, RoutingConfigRow } from "./store.ts";

/** Dependencies of the AI gateway settings. */
export interface GatewayDeps {
  database: Pick<Database, "prepared">;
  clock: Clock;
  random: Random;
  events: Pick<Events, "emit">;
}

/** Settings of the AI gateway and MCP servers of the caller's organization (decisions 10.12). */
export function createGateway({ database, clock, random, events }: GatewayDeps) {
  return {
    /** Provider and budget; undefined before the first {@link setConfig}. */
    config: ({ caller }: CallerContext) => store.findGatewayConfig(database, callerOrg(caller)),

    /**
     * Sets provider and monthly budget, US dollars.
     * @throws {unknown_provider} for any other provider than the five
     * @throws {invalid_budget} when the budget is out of range or has more than 2 decimals
     */
    setConfig: async (context: CallerContext, provider: string, budgetUsd: number): Promise<void> => {
      if (!PROVIDERS.has(provider)) throw gatewayErrors.unknownProvider();
      const budget = budgetText(budgetUsd);
      if (budget === undefined) throw gatewayErrors.invalidBudget();
      const orgUuid = callerOrg(context.caller);
      await context.transaction(async (tx) => {
        await store.putGatewayConfig(tx, orgUuid, { provider, budgetUsd: budget }, dateOf(clock));
        await events.emit(tx, EVENTS["ai.gateway_updated"], {
          by: causedBy(context),
          orgUuid,
          metadata: { provider, budget_usd: budget },
        });
      });
    },

    /** Models; undefined before the first {@link setRouting}. */
    routing: ({ caller }: CallerContext) => store.findRoutingConfig(database, callerOrg(caller)),

    /** Sets the models. */
    setRouting: async (context: CallerContext, routing: RoutingConfigRow): Promise<void> => {
      const orgUuid = callerOrg(context.caller);
      await context.transaction(async (tx) => {
        await store.putRoutingConfig(tx, orgUuid, routing, dateOf(clock));
        const { slm, llm, autoEscalate } = routing;
        await events.emit(tx, EVENTS["ai.routing_updated"], {
          by: causedBy(context),
          orgUuid,
          metadata: { slm, llm, auto_escalate: autoEscalate },
        });
      });
    },

    /** The built-in MCP servers and the organization's own, by name. */
    mcpServers: async ({ caller }: CallerContext): Promise<McpServer[]> => {
      const rows = await store.mcpServersOf(database, callerOrg(caller), MAX_MCP_SERVERS);
      const own = rows.map((row) => ({ ...row, builtIn: false }));
      return [...BUILT_IN_SERVERS, ...own].sort((one, other) => (one.name < other.name ? -1 : 1));
    },

    /**
     * Adds an MCP server.
     * @throws {conflict} when the name is taken, or the organization has 200 servers
     */
    createMcpServer: async (context: CallerContext, server: Omit<McpServerRow, "id">): Promise<McpServer> => {
      if (BUILT_IN_SERVERS.some(({ name }) => name === server.name)) throw gatewayErrors.serverExists();
      const orgUuid = callerOrg(context.caller);
      const row = { id: random.uuid(), ...server };
      await context.transaction(async (tx) => {
        const outcome = await store.insertMcpServer(tx, orgUuid, row, dateOf(clock), MAX_MCP_SERVERS);
        if (outcome === "exists") throw gatewayErrors.serverExists();
        if (outcome === "full") throw gatewayErrors.tooManyServers();
        await events.emit(tx, EVENTS["mcp_server.created"], {
          by: causedBy(context),
          orgUuid,
          resourceId: row.id,
          metadata: { name: row.name },
        });
      });
      return { ...row, builtIn: false };
    },

    /**
     * Deletes an MCP server of the organization's own.
     * @throws {not_found} when there is none
     * @throws {conflict} when it is built in
     */
    deleteMcpServer: async (context: CallerContext, id: string): Promise<void> => {
      if (BUILT_IN_SERVERS.some((server) => server.id === id)) throw gatewayErrors.builtIn();
      const orgUuid = callerOrg(context.caller);
      await context.transaction(async (tx) => {
        const name = await store.deleteMcpServer(tx, orgUuid, id);
        if (name === undefined) throw gatewayErrors.serverNotFound();
        await events.emit(tx, EVENTS["mcp_server.deleted"], {
          by: causedBy(context),
          orgUuid,
          resourceId: id,
          metadata: { name },
        });
      });
    },
  };
}

/** Settings of the AI gateway. */
export type Gateway = ReturnType<typeof createGateway>;
