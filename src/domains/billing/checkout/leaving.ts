import type { Tx } from "../../../platform/db/types.ts";
import type { Providers } from "../providers/index.ts";

/** Outbox topic: a checkout that can be paid has lost its quote or organization. Payload: {@link LeftCheckout}. */
export const CHECKOUT_LEFT = "checkout.left";

/** For how long a provider is asked to close a checkout, milliseconds. */
const ASKED_MS = 30 * 86_400_000;

/** Payload of {@link CHECKOUT_LEFT}. */
export interface LeftCheckout {
  provider: string;
  session: string;
}

/** Writes the messages that close checkouts at their providers. */
export async function leaveCheckouts(tx: Tx, left: readonly LeftCheckout[], at: Date): Promise<void> {
  const expiresAt = new Date(at.getTime() + ASKED_MS);
  for (const { provider, session } of left)
    await tx.emit({ topic: CHECKOUT_LEFT, payload: { provider, session }, expiresAt });
}

/** Checkouts whose quotes or organizations are gone: what they would pay for cannot be bought any more. */
export function createCheckoutEnd(providers: Providers) {
  return {
    /**
     * Closes a checkout at its provider; idempotent.
     * @throws {provider_error} when the provider does not do it, {provider_not_configured} while it is not configured
     */
    async close({ provider: name, session }: LeftCheckout): Promise<void> {
      const provider = await providers.get(providers.nameOf(name));
      await providers.call(() => provider.closeCheckout(session));
    },
  };
}
