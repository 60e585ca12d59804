import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import type { Access } from "../access/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { Mfa } from "../mfa/index.ts";
import type { People } from "../people/index.ts";
import type { Sessions } from "../sessions/index.ts";
import { stepUpRpc } from "./rpc.ts";
import { createStepUp } from "./step-up.ts";

/** Step-up challenges and the elevated tokens they give (RFC 9470). */
export const stepUpDomain = defineDomain(
  "step-up",
  ({
    eventCatalogue: events,
    config: { baseUrl, ttl, rateLimits },
    contexts,
    limiter,
    ...below
  }: Ground & { eventCatalogue: Events; people: People; access: Access; sessions: Sessions; mfa: Mfa }) => {
    const stepUp = createStepUp({
      ...below,
      events,
      limiter: rateLimits ? limiter : undefined,
      config: { baseUrl, elevatedMs: ttl.elevatedMs, stepUpMs: ttl.stepUpMs, magicLinkMs: ttl.magicLinkMs },
    });
    return { ...stepUp, services: [stepUpRpc(stepUp, contexts)] };
  },
);
