import { AuthEventsService } from "../../../gen/atrium/auth_events/v1/auth_events_pb.ts";
import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import { registration } from "../../platform/rpc.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { Organizations } from "../organizations/index.ts";
import type { People } from "../people/index.ts";
import type { Keys } from "../signing-keys/index.ts";
import { createAuthEvents } from "./auth-events.ts";
import { authEventsRpc } from "./rpc.ts";
import { SEALED } from "./sealed.ts";

/** The audit log: lists, hash chain, export, verification. */
export const authEventsDomain = defineDomain(
  "auth-events",
  ({
    eventCatalogue: events,
    signingKeys,
    contexts,
    ...below
  }: Ground & { eventCatalogue: Events; organizations: Organizations; people: People; signingKeys: Keys }) => {
    const log = createAuthEvents({ ...below, events, keys: signingKeys.signing });
    return { ...log, services: [registration(AuthEventsService, authEventsRpc(log, contexts))] };
  },
  { sealed: SEALED },
);
