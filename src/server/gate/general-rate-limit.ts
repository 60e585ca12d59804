import type { Rates } from "../rates.ts";
import type { Step } from "./step.ts";

/** Counts the call against the budget of its caller or address; 429 when that is used up. */
export function createGeneralRateLimit(rates: Rates): Step {
  return {
    name: "general-rate-limit",
    applies: (policy) => rates.hasGeneral(policy),
    run: (policy, call) => rates.general(policy, call),
  };
}
