import { dateOf } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import { withoutTrace } from "../../platform/tracing.ts";
import type { WebhookDeps } from "./deps.ts";
import { EVENTS, wakeRetries } from "../event-catalogue/index.ts";
import * as queue from "./queue-store.ts";
import { databaseTime } from "../../platform/db/time.ts";
import { GIVE_UP_MS, nextWait } from "./rules.ts";
import * as store from "./store.ts";
import type { AttemptRecord } from "./store.ts";

/**
 * Endpoints whose failures are noted at once: when many time out together, the database stays free for those that
 * answer.
 */
const AT_ONCE = 3;

/** A failed attempt. */
export interface Failure {
  deliveryId: string;
  /** Of the delivery, as it was taken. */
  generation: number;
  tries: number;
  /** The endpoint said that it is gone for good. */
  gone: boolean;
  /** What its `Retry-After` asked for; 0: nothing. */
  retryAfterMs: number;
  record: AttemptRecord;
  turn?: Turn | undefined;
}

/**
 * Retries that are attempted together. While the endpoint takes some of them, it refuses the others and does not fail.
 */
export interface Turn {
  /** Ids of their deliveries: those that fail keep their times, whatever becomes of the others. */
  attempted: Set<string>;
  /** The endpoint has taken one. */
  answered: boolean;
}

interface Waiting {
  failure: Failure;
  done(): void;
  failed(error: unknown): void;
}

/**
 * Notes failures and what follows from them: the next attempt, or the endpoint's end. Those of one endpoint that come
 * while others are noted share a transaction, so that nobody holds a connection while waiting for the endpoint's row.
 */
export function createFailing({
  database,
  clock,
  random,
  events,
  config,
}: Pick<WebhookDeps, "database" | "clock" | "random" | "events" | "config">) {
  const waiting = new Map<string, Waiting[]>();
  const busy = new Set<string>();

  async function note(tx: Tx, webhookId: string, failures: readonly Failure[]): Promise<void> {
    const webhook = await store.lockWebhook(tx, webhookId);
    const stillOpen = await queue.stillOpen(tx, failures, webhook?.generation);
    const open = failures.filter(({ deliveryId }) => stillOpen.has(deliveryId));
    await queue.appendAttempts(
      tx,
      failures
        .filter(({ deliveryId }) => !stillOpen.has(deliveryId))
        .map(({ deliveryId, record }) => ({ deliveryId, attempt: record })),
    );
    if (webhook === null || open.length === 0) return;
    const at = dateOf(clock);
    if (open.some(({ turn }) => turn?.answered !== true)) webhook.failingSince ??= at;
    // Off, or its organization gone: what is open now is the last word, said once.
    const isOff = webhook.status === "disabled";
    const noted = open.map(({ deliveryId, tries, retryAfterMs, record }) => {
      const wait = isOff
        ? undefined
        : nextWait(config.schedule, tries + 1, retryAfterMs, random.int(0, 1_000_000) / 1_000_000);
      return { deliveryId, attempt: record, waitMs: wait ?? null };
    });
    await queue.markAttemptsFailed(tx, noted, databaseTime(clock));
    if (isOff) return;
    const gone = open.some((failure) => failure.gone);
    if (gone || (webhook.failingSince && at.getTime() - webhook.failingSince.getTime() >= GIVE_UP_MS)) {
      webhook.disable(at);
      await tx.em.flush();
      await events.notify(tx, EVENTS["webhook.disabled"], {
        orgUuid: webhook.orgUuid,
        data: { webhook_id: webhookId, url: webhook.url, reason: gone ? "gone" : "failing" },
      });
    } else if (noted.some(({ waitMs }) => waitMs !== null)) {
      await wakeRetries(tx, webhookId);
    }
  }

  async function noteAll(webhookId: string, batch: readonly Waiting[]): Promise<void> {
    try {
      await database.transaction((tx) =>
        note(
          tx,
          webhookId,
          batch.map(({ failure }) => failure),
        ),
      );
      for (const { done } of batch) done();
    } catch (error) {
      for (const { failed } of batch) failed(error);
    }
  }

  function begin(): void {
    for (const [webhookId, batch] of waiting) {
      if (busy.size >= AT_ONCE) return;
      if (busy.has(webhookId)) continue;
      waiting.delete(webhookId);
      busy.add(webhookId);
      void withoutTrace(() => noteAll(webhookId, batch)).finally(() => {
        busy.delete(webhookId);
        begin();
      });
    }
  }

  return (webhookId: string, failure: Failure): Promise<void> =>
    new Promise((done, failed) => {
      const batch = waiting.get(webhookId);
      if (batch === undefined) waiting.set(webhookId, [{ failure, done, failed }]);
      else batch.push({ failure, done, failed });
      begin();
    });
}
