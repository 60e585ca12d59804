import { idempotencyScope } from "../idempotency.ts";
import type { Step } from "./step.ts";

/** Refuses a malformed `Idempotency-Key`. */
export const idempotencyKey: Step = {
  name: "idempotency-key",
  applies: (policy) => policy.idempotent,
  run: (policy, call) => void idempotencyScope(policy, call),
};
