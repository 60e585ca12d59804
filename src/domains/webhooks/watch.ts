import type { CallerContext } from "../../platform/context.ts";
import { createFailureLog } from "../../platform/db/failure-log.ts";
import { errors } from "../../platform/errors.ts";
import type { DeliveryRow } from "./delivery-store.ts";
import type { WebhookDeps } from "./deps.ts";
import { webhookErrors } from "./errors.ts";
import { demandManageable } from "./power.ts";
import type { Registration } from "./registration.ts";
import { changesSince, deliveriesById, presentSnapshot, watchWebhooks } from "./watch-store.ts";

/** Interval of reading the changes of all watched webhooks, with one statement. */
const POLL_MS = 250;
/** Polls between two renewals of the watches, which also find webhooks that have ended. */
const RENEW_POLLS = 20;
/** Deliveries that one statement reads. */
const READ_BATCH = 200;
/** Watchers that are notified before the event loop continues with other work. */
const NOTIFY_BATCH = 25;
/** Deliveries that wait for a slow watcher; a changed delivery waits once, in its latest state. */
const MAX_WAITING = 10_000;

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** One open stream. */
interface Watcher {
  waiting: Map<string, DeliveryRow>;
  /** Why the stream ends. */
  failure: Error | undefined;
  wake(): void;
}

/**
 * Streams changes of deliveries, whichever instance makes them. The database notes the changes of watched webhooks;
 * each is read once, on connections of their own, however many watchers the webhook has.
 */
export function createWatch({ database, log }: WebhookDeps, registration: Pick<Registration, "read">) {
  const watched = new Map<string, Set<Watcher>>();
  /** What the watchers have received: all that is visible in it. */
  let snapshot: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  let polls = 0;
  const failures = createFailureLog(log, "The changes of watched webhooks could not be read");

  function fail(webhookId: string, failure: Error): void {
    for (const watcher of watched.get(webhookId) ?? []) {
      watcher.failure = failure;
      watcher.wake();
    }
  }

  async function notify(row: DeliveryRow & { webhookId: string }): Promise<void> {
    const { webhookId, ...delivery } = row;
    let notified = 0;
    for (const watcher of [...(watched.get(webhookId) ?? [])]) {
      watcher.waiting.delete(delivery.deliveryId);
      watcher.waiting.set(delivery.deliveryId, delivery);
      if (watcher.waiting.size > MAX_WAITING)
        watcher.failure = errors.unavailable({ message: "The stream was read too slowly; list what was missed." });
      watcher.wake();
      if (++notified % NOTIFY_BATCH === 0) await nextTurn();
    }
  }

  async function renew(): Promise<void> {
    const ids = [...watched.keys()];
    const existing = new Set(await watchWebhooks(database, ids));
    let woken = 0;
    for (const id of ids) {
      if (!existing.has(id)) fail(id, webhookErrors.notFound());
      // Quiet streams too end when their caller may no longer manage the webhook.
      for (const watcher of [...(watched.get(id) ?? [])]) {
        watcher.wake();
        if (++woken % NOTIFY_BATCH === 0) await nextTurn();
      }
    }
  }

  async function poll(): Promise<void> {
    try {
      if (++polls % RENEW_POLLS === 0) await renew();
      if (snapshot !== undefined) {
        const { deliveryIds, snapshot: seen } = await changesSince(database, [...watched.keys()], snapshot);
        for (let from = 0; from < deliveryIds.length; from += READ_BATCH) {
          const rows = await deliveriesById(database, deliveryIds.slice(from, from + READ_BATCH));
          for (const row of rows) await notify(row);
        }
        snapshot = seen;
      }
      failures.succeeded();
    } catch (error) {
      // Nothing is lost: watchers receive the changes once they can be read.
      failures.failed(error);
    }
    if (watched.size > 0) return start();
    timer = undefined;
    snapshot = undefined;
  }

  function start(): void {
    timer = setTimeout(() => void poll(), POLL_MS);
  }

  /** Adds a watcher, which receives every change that is committed from now on. */
  async function subscribe(webhookId: string, watcher: Watcher): Promise<void> {
    const watchers = watched.get(webhookId) ?? new Set<Watcher>();
    watched.set(webhookId, watchers.add(watcher));
    await watchWebhooks(database, [webhookId]);
    // Of several watchers that begin together, the earliest snapshot counts: none misses what came between theirs.
    const own = await presentSnapshot(database);
    snapshot ??= own;
    if (timer === undefined) start();
  }

  function unsubscribe(webhookId: string, watcher: Watcher): void {
    const watchers = watched.get(webhookId);
    watchers?.delete(watcher);
    if (watchers?.size === 0) watched.delete(webhookId);
  }

  return {
    /**
     * Yields each delivery of a webhook that is made or changes, in its latest state, until the signal; calls `onReady`
     * when no later change can be missed.
     * @throws {not_found} when there is no such webhook, it is deleted meanwhile, or the caller loses the power over it
     * @throws {unavailable} when more deliveries wait for a slow reader than are kept
     */
    async *watch(
      context: CallerContext,
      webhookId: string,
      signal: AbortSignal,
      onReady: () => void,
    ): AsyncIterable<DeliveryRow> {
      const id = webhookId.toLowerCase();
      const webhook = await registration.read(context, id);
      let wake: (() => void) | undefined;
      const watcher: Watcher = { waiting: new Map(), failure: undefined, wake: () => wake?.() };
      const aborted = (): void => wake?.();
      signal.addEventListener("abort", aborted, { once: true });
      try {
        await subscribe(id, watcher);
        onReady();
        while (!signal.aborted) {
          if (watcher.failure !== undefined) throw watcher.failure;
          demandManageable(context.caller, webhook);
          const [next] = watcher.waiting;
          if (next === undefined) {
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
            continue;
          }
          const [deliveryId, delivery] = next;
          watcher.waiting.delete(deliveryId);
          yield delivery;
        }
      } finally {
        signal.removeEventListener("abort", aborted);
        unsubscribe(id, watcher);
      }
    },
  };
}
