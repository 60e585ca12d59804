import { createHmac } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import Stripe from "stripe";
import type { Provider, SentEvent } from "./ledger.ts";

/** Waits before the attempts to deliver an event, milliseconds. */
const ATTEMPTS_MS = [0, 500, 1_000, 2_000, 5_000, 10_000];

/** The header that signs a body. `at` is in seconds since the epoch. */
export function signatureOf(provider: Provider, payload: string, secret: string, at: number): Record<string, string> {
  if (provider === "stripe") {
    const header = Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp: at });
    return { "stripe-signature": header };
  }
  // Paddle's SDK verifies and cannot sign: this is what its verification computes.
  const h1 = createHmac("sha256", secret).update(`${at}:${payload}`).digest("hex");
  return { "paddle-signature": `ts=${at};h1=${h1}` };
}

/** Creates the delivery of events to a service; those it does not accept are sent again a few times. */
export function createDelivery(service: () => string | undefined, secret: string, now: () => number) {
  const stopped = new AbortController();
  const open = new Set<Promise<void>>();

  async function deliver({ provider, body }: SentEvent): Promise<void> {
    const payload = JSON.stringify(body);
    for (const waitMs of ATTEMPTS_MS) {
      await sleep(waitMs, undefined, { signal: stopped.signal, ref: false });
      const url = service();
      if (url === undefined) continue;
      try {
        const response = await fetch(`${url}/api/billing/webhooks/${provider}`, {
          method: "POST",
          headers: { "content-type": "application/json", ...signatureOf(provider, payload, secret, now()) },
          body: payload,
          signal: stopped.signal,
        });
        await response.arrayBuffer();
        if (response.ok) return;
      } catch {
        // The service is away: the next attempt may reach it.
      }
    }
  }

  return {
    send(event: SentEvent): void {
      const sending = deliver(event)
        .catch(() => undefined)
        .finally(() => open.delete(sending));
      open.add(sending);
    },
    /** Resolves when everything that was sent has been accepted or given up. */
    settled: async (): Promise<void> => {
      while (open.size > 0) await Promise.all(open);
    },
    stop: (): void => stopped.abort(),
  };
}
