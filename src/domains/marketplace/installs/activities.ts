import { dateOf } from "../../../platform/clock.ts";
import type { Tx } from "../../../platform/db/types.ts";
import { appById } from "../apps/store.ts";
import type { MarketplaceDeps } from "../deps.ts";
import type { Install } from "./entities.ts";
import { createPublisherClient } from "./publisher.ts";
import type { InstallStepKind } from "./rules.ts";
import { createStepEnd } from "./step-end.ts";
import { installById, lockInstall } from "./store.ts";
import { addTimeline, lastFailure } from "./timeline-store.ts";

/** The next request that an install's workflow makes; durations in milliseconds. */
export type InstallStep =
  | { kind: "none" }
  | {
      kind: InstallStepKind;
      /** Identifies this request at the publisher; a later request replaces it. */
      eventId: string;
      /** The publisher responded with 202 and will report the result. */
      accepted: boolean;
      /** Until the request's deadline. */
      remainingMs: number;
      /** Waits before each attempt; the last repeats. */
      schedule: number[];
      /** Longest duration of an attempt, with the reads and writes around the request. */
      attemptMs: number;
      /** Attempts after which the request ends before its deadline. */
      attempts: number | null;
    };

/** Result of an attempt. */
export type AttemptResult =
  | { kind: "settled" | "accepted" }
  | { kind: "retry" /** `Retry-After` of the publisher, milliseconds; 0: none. */; retryAfterMs: number };

/** Time for reads and writes around a request to a publisher; without the database they fail within 10 s. */
const ATTEMPT_SLACK_MS = 12_000;

/** Idempotent effects of an install's workflow. The state is in the rows: each activity reads it before it acts. */
export function createInstallActivities(deps: MarketplaceDeps) {
  const { database, clock, config, organizations } = deps;
  const send = createPublisherClient(deps);
  const { succeed, fail } = createStepEnd(deps);

  /** Runs `apply` on the locked row while the request is still pending. */
  async function onPending(
    installId: string,
    eventId: string,
    apply: (tx: Tx, install: Install, kind: InstallStepKind) => Promise<AttemptResult>,
  ): Promise<AttemptResult> {
    return database.transaction(async (tx) => {
      const install = await lockInstall(tx, installId);
      const pending = install?.pending();
      if (!install || pending?.eventId !== eventId) return { kind: "settled" };
      return apply(tx, install, pending.kind);
    });
  }

  /** When the publisher is asked again; undefined when the deadline comes first. */
  function nextAttempt(
    install: Install,
    { retryAfterMs }: { retryAfterMs: number },
    nextMs: number | null | undefined,
  ): Date | undefined {
    if (typeof nextMs !== "number") return undefined;
    const at = dateOf(clock, Math.max(nextMs, retryAfterMs));
    const deadline = install.pending()?.deadline;
    return deadline !== undefined && at >= deadline ? undefined : at;
  }

  return {
    /** The pending request of an install, if any. */
    async nextInstallStep(installId: string): Promise<InstallStep> {
      const install = await database.read((em) => installById(em, installId));
      const pending = install?.pending();
      if (!pending) return { kind: "none" };
      const isNotice = pending.kind === "suspend" || pending.kind === "resume";
      return {
        kind: pending.kind,
        eventId: pending.eventId,
        accepted: pending.accepted,
        remainingMs: Math.max(0, pending.deadline.getTime() - clock.now()),
        schedule: [...config.schedule],
        attemptMs: config.webhookTimeoutMs + ATTEMPT_SLACK_MS,
        attempts: isNotice ? config.schedule.length : null,
      };
    },

    /**
     * Sends the pending request to the publisher and applies its response. `nextMs` is the wait before another attempt;
     * null when none follows, undefined from a workflow of an earlier version.
     */
    async attemptInstallStep(installId: string, eventId: string, nextMs?: number | null): Promise<AttemptResult> {
      const found = await database.read(async (em) => {
        const install = await installById(em, installId);
        const app = install === null ? null : await appById(em, install.appId);
        const pending = install?.pending();
        return install === null || app === null || pending?.eventId !== eventId
          ? null
          : { install, app, kind: pending.kind };
      });
      if (found === null) return { kind: "settled" };
      const response = await send(found.install, found.app, found.kind, eventId);
      return onPending(installId, eventId, async (tx, install, kind) => {
        const at = dateOf(clock);
        switch (response.result) {
          case "done":
            // An install of a deleted organization is about to be deprovisioned and changes in no other way.
            if (kind !== "deprovision" && (await organizations.findIn(tx, install.orgUuid)) === undefined)
              return { kind: "retry", retryAfterMs: 0 };
            await succeed(tx, install, kind, response);
            return { kind: "settled" };
          case "refused":
            await fail(tx, install, kind, response.message || response.note);
            return { kind: "settled" };
          case "accepted":
            install.accept(
              at,
              kind === "provision" ? dateOf(clock, config.provisionDeadlineMs) : (install.stepDeadline ?? at),
            );
            await addTimeline(tx, installId, at, "accepted", response.note);
            return { kind: "accepted" };
          case "retry":
            await addTimeline(
              tx,
              installId,
              at,
              "attempt_failed",
              response.note,
              nextAttempt(install, response, nextMs),
            );
            return { kind: "retry", retryAfterMs: response.retryAfterMs };
        }
      });
    },

    /** Ends a request whose deadline has passed: provisioning fails, deprovisioning is forced, a notice is dropped. */
    async expireInstallStep(installId: string, eventId: string): Promise<void> {
      await onPending(installId, eventId, async (tx, install, kind) => {
        const isAccepted = install.pending()?.accepted === true;
        const last = isAccepted ? undefined : await lastFailure(tx, installId, install.stepSince ?? null);
        const reason = isAccepted
          ? "the publisher accepted but never reported the outcome"
          : `no usable answer of the publisher in time; the last attempt: ${last ?? "none was made"}`;
        await fail(tx, install, kind, reason);
        return { kind: "settled" };
      });
    },
  };
}

/** The activities as the workflow calls them. */
export type InstallActivities = ReturnType<typeof createInstallActivities>;
