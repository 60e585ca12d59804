import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { OffboardingDeps } from "./deps.ts";
import { createOffboarding } from "./offboarding.ts";

/** The end of memberships and organizations, with everything that ends with them. */
export const offboardingDomain = defineDomain(
  "offboarding",
  ({ eventCatalogue: events, ...below }: Ground & { eventCatalogue: Events } & Omit<OffboardingDeps, "events">) =>
    createOffboarding({ ...below, events }),
);
