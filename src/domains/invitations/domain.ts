import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { Organizations } from "../organizations/index.ts";
import type { People } from "../people/index.ts";
import type { Rbac } from "../rbac/index.ts";
import { createInvitations } from "./invitations.ts";

/** Invitations to organizations; `users` and `login` serve them. */
export const invitationsDomain = defineDomain(
  "invitations",
  ({
    eventCatalogue: events,
    config: { baseUrl, ttl, rateLimits },
    limiter,
    ...below
  }: Ground & { eventCatalogue: Events; organizations: Organizations; people: People; rbac: Rbac }) =>
    createInvitations({
      ...below,
      events,
      limiter: rateLimits ? limiter : undefined,
      config: { baseUrl, invitationMs: ttl.invitationMs },
    }),
);
