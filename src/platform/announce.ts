import type { Tx } from "./db/types.ts";

/**
 * Sends an event to the webhooks of an organization, in the transaction of its cause. `data` contains the id of its
 * resource.
 */
export type Announce<Type extends string> = (
  tx: Tx,
  event: { type: Type; orgUuid: string; data: Readonly<Record<string, unknown>> },
) => Promise<void>;
