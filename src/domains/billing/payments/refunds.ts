import type { Tx } from "../../../platform/db/types.ts";
import type { BillingDeps } from "../deps.ts";
import type { ProviderEvent, ProviderName, Providers } from "../providers/index.ts";
import { waitingIds } from "./refund-store.ts";

/** Outbox topic: a refund came whose payment may be unknown. Payload: {@link ReceivedRefund}. */
export const REFUND_RECEIVED = "billing.refund_received";

/** Waits before the retries of a call that the provider did not do, milliseconds. */
export const LIST_RETRY_MS: readonly number[] = [1_000, 5_000, 30_000, 300_000, 1_800_000, 3_600_000];
/** For how long a provider is asked, milliseconds: as long as Stripe repeats a delivery. */
const ASKED_MS = 3 * 86_400_000;

/** Payload of {@link REFUND_RECEIVED}. */
export interface ReceivedRefund {
  provider: ProviderName;
  event_id: string;
}

/** Writes the messages of events that say something of a refund. */
export async function announceRefunds(
  tx: Tx,
  provider: ProviderName,
  received: readonly { event: ProviderEvent }[],
  at: Date,
): Promise<void> {
  const expiresAt = new Date(at.getTime() + ASKED_MS);
  for (const { event } of received)
    if (event.facts.some(({ kind }) => kind === "refund"))
      await tx.emit({ topic: REFUND_RECEIVED, payload: { provider, event_id: event.eventId }, expiresAt });
}

/** Refunds that name their payment by ids which no other event has. */
export function createRefunds(
  { database, log }: Pick<BillingDeps, "database" | "log">,
  providers: Providers,
  inbox: { keep(provider: ProviderName, event: ProviderEvent, body: string): Promise<boolean> },
) {
  return {
    /**
     * Asks the provider for the payment of a refund that belongs to no purchase; idempotent.
     * @throws {provider_error} when the provider does not list it, {provider_not_configured} while it is not configured
     */
    async findPayment({ provider: name, event_id: eventId }: ReceivedRefund): Promise<void> {
      const ids = await waitingIds(database.background, name, eventId);
      if (ids.length === 0) return;
      const provider = await providers.get(name);
      const events = await providers.call(() => provider.listPaymentsOf(ids));
      for (const { event, body } of events) await inbox.keep(name, event, body);
      const left = await waitingIds(database.background, name, eventId);
      if (left.length > 0) log.warn({ provider: name, event_id: eventId }, "A refund belongs to no known payment");
    },
  };
}
