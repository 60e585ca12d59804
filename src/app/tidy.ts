import type { IdempotencyStore } from "../platform/idempotency.ts";
import type { Limiter } from "../platform/limits/index.ts";
import type { TidyTasks } from "../platform/tidy-task.ts";
import type { Domains } from "./domains.ts";

/** Stores of the platform that have tidy tasks. */
interface PlatformStores {
  idempotency: IdempotencyStore;
  limiter: Limiter;
}

/** Returns every tidy task. `test/shape/bounds.test.ts` lists the tables that each of them bounds. */
export function tidyTasks(domains: Domains, { idempotency, limiter }: PlatformStores) {
  return {
    ...domains.sessions.tidy,
    ...domains.mfa.tidy,
    ...domains.stepUp.tidy,
    ...domains.invitations.tidy,
    ...domains.login.tidy,
    ...domains.credentials.tidy,
    ...domains.webhooks.tidy,
    ...domains.operator.tidy,
    ...domains.keys.tidy,
    ...domains.authEvents.tidy,
    idempotency: idempotency.purge,
    limits: limiter.purge,
  } satisfies TidyTasks;
}

/** Name of a tidy task. */
export type TidyTaskName = keyof ReturnType<typeof tidyTasks>;
