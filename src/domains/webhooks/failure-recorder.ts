import { dateOf } from "../../platform/clock.ts";
import { databaseTime } from "../../platform/db/time.ts";
import type { Tx } from "../../platform/db/types.ts";
import { withoutTrace } from "../../platform/tracing.ts";
import { bySystem, EVENTS, wakeRetries } from "../event-catalogue/index.ts";
import type { WebhookDeps } from "./deps.ts";
import * as queue from "./queue-store.ts";
import { EXTRA_PAUSE_MS, GIVE_UP_MS, nextWait } from "./rules.ts";
import { lockForDisabling, lockWebhook } from "./store.ts";
import type { AttemptRecord } from "./store.ts";

/**
 * Endpoints whose failures are recorded concurrently: few, so that the database remains free for other work when many
 * endpoints time out together.
 */
const CONCURRENCY = 3;

/** A failed attempt. */
export interface Failure {
  deliveryId: string;
  /** Of the delivery when it was leased, as `tries`. */
  generation: number;
  tries: number;
  /** The URL that was attempted. */
  url: string;
  /** The endpoint responded with 410. */
  gone: boolean;
  /** `Retry-After`, milliseconds; 0: none. */
  retryAfterMs: number;
  record: AttemptRecord;
  batch?: RetryBatch | undefined;
}

/** Retries of one endpoint that are attempted together. When one succeeds, the others do not count as its failure. */
export interface RetryBatch {
  /** Ids of the deliveries; those that fail keep their times when the endpoint recovers. */
  attempted: Set<string>;
  hasSuccess: boolean;
}

interface Waiting {
  failure: Failure;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Creates a function that records a failed attempt and what follows from it: the next attempt, or the end of the
 * endpoint. Failures of one endpoint that come while others are recorded share a transaction, so that none holds a
 * connection while it waits for the endpoint's row.
 */
export function createFailureRecorder({
  database,
  clock,
  random,
  events,
  config,
}: Pick<WebhookDeps, "database" | "clock" | "random" | "events" | "config">) {
  const waiting = new Map<string, Waiting[]>();
  const running = new Set<string>();

  async function record(tx: Tx, webhookId: string, failures: readonly Failure[]): Promise<void> {
    const at = dateOf(clock);
    lockForDisabling(
      tx,
      webhookId,
      failures.some(({ gone }) => gone),
      dateOf(clock, -GIVE_UP_MS),
    );
    const webhook = await lockWebhook(tx, webhookId);
    const stillOpen = await queue.stillOpen(tx, failures, webhook?.generation, databaseTime(clock));
    const open = failures.filter(({ deliveryId }) => stillOpen.has(deliveryId));
    const settled = failures.filter(({ deliveryId }) => !stillOpen.has(deliveryId));
    await queue.appendAttempts(
      tx,
      settled.map(({ deliveryId, record: attempt }) => ({ deliveryId, attempt })),
    );
    if (webhook === null || open.length === 0) return;
    /** Attempts at a URL that was changed meanwhile say nothing about the present endpoint. */
    const present = open.filter(({ url }) => url === webhook.url);
    if (present.some(({ batch }) => batch?.hasSuccess !== true)) webhook.failingSince ??= at;
    // A disabled or ended webhook has no further attempts: open deliveries were its last event, sent once.
    const isDisabled = webhook.status === "disabled";
    const recorded = open.map(({ deliveryId, url, retryAfterMs, record: attempt }) => {
      const { steps = 0, scheduledInMs = null } = stillOpen.get(deliveryId) ?? {};
      if (isDisabled) return { deliveryId, attempt, waitMs: null, pauseMs: null };
      if (url !== webhook.url) return { deliveryId, attempt, waitMs: 0, pauseMs: 0 };
      if (scheduledInMs !== null)
        return {
          deliveryId,
          attempt,
          waitMs: Math.max(scheduledInMs, retryAfterMs),
          pauseMs: Math.max(EXTRA_PAUSE_MS, retryAfterMs),
        };
      const chance = random.int(0, 1_000_000) / 1_000_000;
      const wait = nextWait(config.schedule, steps + 1, retryAfterMs, chance);
      return { deliveryId, attempt, waitMs: wait ?? null, pauseMs: null };
    });
    await queue.markAttemptsFailed(tx, recorded, databaseTime(clock));
    if (isDisabled) return;
    const isGone = present.some((failure) => failure.gone);
    if (isGone || (webhook.failingSince && at.getTime() - webhook.failingSince.getTime() >= GIVE_UP_MS)) {
      webhook.disable(at);
      await tx.em.flush();
      const reason = isGone ? "gone" : "failing";
      await events.emit(tx, EVENTS["webhook.disabled"], {
        by: bySystem,
        orgUuid: webhook.orgUuid,
        resourceId: webhookId,
        metadata: { webhook_id: webhookId, reason },
        data: { webhook_id: webhookId, url: webhook.url, reason },
      });
    } else if (recorded.some(({ waitMs }) => waitMs !== null)) {
      await wakeRetries(tx, webhookId);
    }
  }

  async function recordAll(webhookId: string, batch: readonly Waiting[]): Promise<void> {
    const failures = batch.map(({ failure }) => failure);
    try {
      await database.transaction((tx) => record(tx, webhookId, failures));
      for (const { resolve } of batch) resolve();
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  function begin(): void {
    for (const [webhookId, batch] of waiting) {
      if (running.size >= CONCURRENCY) return;
      if (running.has(webhookId)) continue;
      waiting.delete(webhookId);
      running.add(webhookId);
      void withoutTrace(() => recordAll(webhookId, batch)).finally(() => {
        running.delete(webhookId);
        begin();
      });
    }
  }

  return (webhookId: string, failure: Failure): Promise<void> =>
    new Promise((resolve, reject) => {
      const batch = waiting.get(webhookId);
      if (batch === undefined) waiting.set(webhookId, [{ failure, resolve, reject }]);
      else batch.push({ failure, resolve, reject });
      begin();
    });
}
