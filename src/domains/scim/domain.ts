import { ScimService } from "../../../gen/atrium/scim/v1/scim_pb.ts";
import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import { registration } from "../../platform/rpc.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { ScimDeps } from "./deps.ts";
import { scimRpc } from "./rpc.ts";
import { createScim } from "./scim.ts";

/** Users and groups for the directory of an organization. */
export const scimDomain = defineDomain(
  "scim",
  ({
    eventCatalogue: events,
    contexts,
    config: { baseUrl, ttl },
    ...below
  }: Ground & { eventCatalogue: Events } & Omit<ScimDeps, "events" | "config">) => {
    const scim = createScim({ ...below, events, config: { baseUrl, cursorMs: ttl.cursorMs } });
    return { services: [registration(ScimService, scimRpc(scim, contexts))] };
  },
);
