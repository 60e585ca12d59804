import { timestampMs } from "@bufbuild/protobuf/wkt";
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

/**
 * Times after the opening of the stream at which the list is read: a stream says nothing of what was made before the
 * service followed it.
 */
const CATCH_UP_MS = [400, 1_000, 2_000, 4_000];

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
    /** Deliveries that were there before the tail, and when the newest of them was made. */
    let earlier: { ids: ReadonlySet<string>; newestMs: number } | undefined;

    async function catchUp(signal: AbortSignal): Promise<void> {
      const { data } = await client.listDeliveries({ webhookId, limit: KEPT }, { signal });
      if (earlier === undefined) {
        const newestMs = Math.max(0, ...data.map(madeMs));
        earlier = { ids: new Set(data.map(({ deliveryId }) => deliveryId)), newestMs };
        return;
      }
      const { ids, newestMs } = earlier;
      const missed = data.filter((one) => !ids.has(one.deliveryId) && madeMs(one) >= newestMs);
      setTail(({ deliveries, live }) => ({ live, deliveries: missed.reduceRight(withMissed, deliveries) }));
    }

    async function follow(signal: AbortSignal): Promise<void> {
      for (let attempt = 0; !signal.aborted; attempt++) {
        const timers: ReturnType<typeof setTimeout>[] = [];
        try {
          await catchUp(signal);
          for (const ms of CATCH_UP_MS) timers.push(setTimeout(() => void catchUp(signal).catch(() => undefined), ms));
          // The response begins with the first delivery: until then an open stream looks like one that is being opened.
          setTail((before) => ({ ...before, live: true }));
          for await (const delivery of client.watchDeliveries({ webhookId }, { signal })) {
            attempt = 0;
            setTail(({ deliveries }) => ({ live: true, deliveries: withNewest(deliveries, delivery) }));
          }
        } catch {
          // A stream that breaks is opened again, and what was missed meanwhile is read.
        } finally {
          timers.forEach(clearTimeout);
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

const madeMs = ({ createdAt }: Delivery): number => (createdAt === undefined ? 0 : timestampMs(createdAt));

/** A delivery of the list is shown unless the stream has told as much of it. */
function withMissed(deliveries: readonly Delivery[], listed: Delivery): readonly Delivery[] {
  const known = deliveries.find(({ deliveryId }) => deliveryId === listed.deliveryId);
  if (known === undefined) return withNewest(deliveries, listed);
  if (known.attempts.length >= listed.attempts.length) return deliveries;
  return deliveries.map((one) => (one === known ? listed : one));
}

/** A delivery that changed takes the place of its former self. */
const withNewest = (deliveries: readonly Delivery[], newest: Delivery): Delivery[] =>
  [newest, ...deliveries.filter(({ deliveryId }) => deliveryId !== newest.deliveryId)].slice(0, KEPT);
