import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import type { Events } from "../event-catalogue/index.ts";
import { createGateway } from "./gateway.ts";
import { gatewayRpc } from "./rpc.ts";

/** Settings of the AI gateway, and MCP servers. */
export const gatewayDomain = defineDomain(
  "gateway",
  ({ eventCatalogue: events, contexts, ...below }: Ground & { eventCatalogue: Events }) => {
    const gateway = createGateway({ ...below, events });
    return { ...gateway, services: [gatewayRpc(gateway, contexts)] };
  },
);
