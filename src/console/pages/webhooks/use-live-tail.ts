import { createClient } from "@connectrpc/connect";
import { useEffect, useState } from "react";
import { WebhooksService } from "../../../../gen/atrium/webhooks/v1/webhooks_pb.ts";
import type { Delivery } from "../../../../gen/atrium/webhooks/v1/webhooks_pb.ts";
import { transport } from "../../session/session.ts";

const client = createClient(WebhooksService, transport);

/** Deliveries that stay on the screen. */
const KEPT = 50;
/** Waits between attempts to open the stream again. */
const WAITS_MS = [500, 1_000, 2_000, 4_000, 8_000];

/** Deliveries as they are made and change, newest first. */
export interface LiveTail {
  deliveries: readonly Delivery[];
  /** Whether the stream is open. */
  live: boolean;
}

/** Follows the deliveries of a webhook by their stream while the page is visible; a hidden tab gives it back. */
export function useLiveTail(webhookId: string): LiveTail {
  const [tail, setTail] = useState<LiveTail>({ deliveries: [], live: false });

  useEffect(() => {
    let stop = new AbortController();

    async function follow(signal: AbortSignal): Promise<void> {
      for (let attempt = 0; !signal.aborted; attempt++) {
        try {
          // The response begins with the first delivery: until then an open stream looks like one that is being opened.
          setTail((before) => ({ ...before, live: true }));
          for await (const delivery of client.watchDeliveries({ webhookId }, { signal })) {
            attempt = 0;
            setTail(({ deliveries }) => ({ live: true, deliveries: withNewest(deliveries, delivery) }));
          }
        } catch {
          // A stream that breaks is opened again; the list below the tail has what was missed meanwhile.
        }
        if (signal.aborted) return;
        setTail((before) => ({ ...before, live: false }));
        const wait = WAITS_MS[Math.min(attempt, WAITS_MS.length - 1)];
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
    }

    function update(): void {
      stop.abort();
      stop = new AbortController();
      if (document.visibilityState === "visible") void follow(stop.signal);
      else setTail((before) => ({ ...before, live: false }));
    }

    update();
    document.addEventListener("visibilitychange", update);
    return () => {
      document.removeEventListener("visibilitychange", update);
      stop.abort();
    };
  }, [webhookId]);
  return tail;
}

/** A delivery that changed takes the place of its former self. */
const withNewest = (deliveries: readonly Delivery[], newest: Delivery): Delivery[] =>
  [newest, ...deliveries.filter(({ deliveryId }) => deliveryId !== newest.deliveryId)].slice(0, KEPT);
