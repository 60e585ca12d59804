import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import { createLiveness } from "./liveness.ts";
import { deleteOldChanges } from "./store.ts";

/** Whether credentials are live: one batched query about every kind of them, on every request. */
export const livenessDomain = defineDomain("liveness", ({ database, clock }: Pick<Ground, "database" | "clock">) => ({
  ask: createLiveness({ database, clock }),
  // Changes that every instance has read.
  tidy: { livenessChanges: () => deleteOldChanges(database.background) },
}));
