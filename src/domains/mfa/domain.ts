import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import type { Access } from "../access/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { People } from "../people/index.ts";
import type { Rbac } from "../rbac/index.ts";
import type { Sessions } from "../sessions/index.ts";
import { createMfa } from "./mfa.ts";
import { SEALED } from "./sealed.ts";

/** Second factors and recovery codes. `login` registers its service, because it completes the sign-ins. */
export const mfaDomain = defineDomain(
  "mfa",
  ({
    eventCatalogue: events,
    config: { ttl, timing, rateLimits },
    limiter,
    ...below
  }: Ground & { eventCatalogue: Events; people: People; access: Access; rbac: Rbac; sessions: Sessions }) =>
    createMfa({
      ...below,
      events,
      limiter: rateLimits ? limiter : undefined,
      config: { elevatedMs: ttl.elevatedMs, mfaTokenMs: ttl.mfaTokenMs, stepUpLockMs: timing.stepUpLockMs },
    }),
  { sealed: SEALED },
);
