import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import type { Access } from "../access/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { Liveness } from "../liveness/index.ts";
import type { Keys } from "../signing-keys/index.ts";
import { sessionsRpc } from "./rpc.ts";
import { createSessions } from "./sessions.ts";
import { SEALED } from "./sealed.ts";

/** Sessions of people: tokens, liveness, inventories, accounts of a device. */
export const sessionsDomain = defineDomain(
  "sessions",
  ({
    eventCatalogue: events,
    signingKeys: keys,
    liveness: { ask: liveness },
    config: { baseUrl, ttl, timing },
    contexts,
    ...below
  }: Ground & { eventCatalogue: Events; signingKeys: Keys; liveness: { ask: Liveness }; access: Access }) => {
    const sessions = createSessions({
      ...below,
      events,
      keys,
      liveness,
      administeredApps: below.access.apps.ofToken,
      config: {
        baseUrl,
        ttls: {
          pairMs: ttl.pairMs,
          refreshMs: ttl.refreshMs,
          refreshIdleMs: ttl.refreshIdleMs,
          refreshGraceMs: timing.refreshGraceMs,
        },
      },
    });
    return { ...sessions, services: [sessionsRpc(sessions, contexts)] };
  },
  { sealed: SEALED },
);
