import { RbacService } from "../../../gen/atrium/rbac/v1/rbac_pb.ts";
import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import { registration } from "../../platform/rpc.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { Organizations } from "../organizations/index.ts";
import type { People } from "../people/index.ts";
import { createRbac } from "./rbac.ts";
import { rbacRpc } from "./rpc.ts";

/** Roles, permissions, and the roles of members. */
export const rbacDomain = defineDomain(
  "rbac",
  ({
    eventCatalogue: events,
    contexts,
    ...below
  }: Ground & { eventCatalogue: Events; organizations: Organizations; people: People }) => {
    const rbac = createRbac({ ...below, events });
    return { ...rbac, services: [registration(RbacService, rbacRpc(rbac, contexts))] };
  },
);
