import type { IdempotencyStore } from "../platform/idempotency.ts";
import type { Limiter } from "../platform/limits/index.ts";
import type { Domains } from "./domains.ts";

/** What forgets rows that are over, by name. `test/shape/bounds.test.ts` lists which tables each of them bounds. */
export function tidyingTasks({
  domains,
  idempotency,
  limiter,
}: {
  domains: Domains;
  idempotency: IdempotencyStore;
  limiter: Limiter;
}) {
  return {
    sessions: domains.sessions.tidy,
    sessionChanges: domains.sessions.tidyChanges,
    mailedTokens: domains.login.tidy,
    secondFactors: domains.mfa.tidy,
    credentials: domains.credentials.tidy,
    webhookEvents: domains.webhooks.tidy,
    plans: domains.operatorConfig.tidy,
    signatures: domains.keys.tidy,
    auditEvents: domains.auditChain.purgeDaily,
    idempotency: idempotency.purge,
    limits: limiter.purge,
  };
}

/** Name of a task of the tidying. */
export type TidyingTask = keyof ReturnType<typeof tidyingTasks>;
