import type { Tx } from "./db/types.ts";

/**
 * Tells the webhooks of an organization what happened, in the transaction in which it happened. `data` carries the id
 * member of its resource.
 */
export type Announce<Type extends string> = (
  tx: Tx,
  event: { type: Type; orgUuid: string; data: Readonly<Record<string, unknown>> },
) => Promise<void>;
