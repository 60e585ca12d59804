import type { ServiceImpl } from "@connectrpc/connect";
import { GatewayService } from "../../../gen/atrium/gateway/v1/gateway_pb.ts";
import type { RequestContexts } from "../../platform/context.ts";
import { registration } from "../../platform/rpc.ts";
import type { ServiceRegistration } from "../../platform/rpc.ts";
import type { Gateway } from "./gateway.ts";

/** `atrium.gateway.v1.GatewayService`. */
export function gatewayRpc(gateway: Gateway, contexts: RequestContexts): ServiceRegistration {
  return registration(GatewayService, {
    // The field rules of the contract demand every member of both settings.
    setGatewayConfig: async ({ provider, budgetUsd = Number.NaN }, call) => {
      await gateway.setConfig(contexts.authenticated(call), provider, budgetUsd);
      return { ok: true };
    },
    getGatewayConfig: async (_request, call) => {
      const found = await gateway.config(contexts.authenticated(call));
      return found === undefined ? {} : { provider: found.provider, budgetUsd: Number(found.budgetUsd) };
    },
    setRoutingConfig: async ({ slm, llm, autoEscalate = false }, call) => {
      await gateway.setRouting(contexts.authenticated(call), { slm, llm, autoEscalate });
      return { ok: true };
    },
    getRoutingConfig: async (_request, call) => (await gateway.routing(contexts.authenticated(call))) ?? {},
    listMcpServers: async (_request, call) => ({ data: await gateway.mcpServers(contexts.authenticated(call)) }),
    createMcpServer: ({ name, installCommand, status = "available" }, call) =>
      gateway.createMcpServer(contexts.authenticated(call), { name, installCommand, status }),
    deleteMcpServer: async ({ id }, call) => {
      await gateway.deleteMcpServer(contexts.authenticated(call), id.toLowerCase());
      return {};
    },
  } satisfies ServiceImpl<typeof GatewayService>);
}
