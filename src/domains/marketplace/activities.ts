import { dateOf } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import { retryAfterMs } from "../../platform/outgoing/delivery.ts";
import { signDelivery } from "../../platform/outgoing/signature.ts";
import { parseJson } from "../../transcoding/index.ts";
import type { MarketplaceAuditType } from "./events.ts";
import type { MarketplaceDeps } from "./deps.ts";
import { secretContext } from "./deps.ts";
import type { App, Install } from "./entities.ts";
import {
  STEP_MESSAGE,
  acceptableEndpoint,
  deprovisioningAnswer,
  endpointNote,
  noticeAnswer,
  provisioningAnswer,
  readCloudTarget,
  readMessage,
} from "./rules.ts";
import type { InstallStepKind, PublisherAnswer } from "./rules.ts";
import * as store from "./store.ts";

/** What an install's workflow has to do next; durations in milliseconds. */
export type InstallStep =
  | { kind: "none" }
  | {
      kind: InstallStepKind;
      /** Names this very request to the publisher; a later one overtakes it. */
      eventId: string;
      /** The publisher answered 202 and will call back. */
      accepted: boolean;
      /** Until the step is given up. */
      remainingMs: number;
      /** Waits before each attempt; the last repeats. */
      schedule: number[];
      /** Longest an attempt takes, the waiting for its answer and the writing of what follows included. */
      attemptMs: number;
      /** Attempts after which the step is given up before its deadline. */
      attempts: number | null;
    };

/** How an attempt ended. */
export type AttemptResult =
  | { kind: "settled" | "accepted" }
  | { kind: "retry" /** `Retry-After` of the publisher, milliseconds; 0: none. */; retryAfterMs: number };

interface Answer {
  meaning: PublisherAnswer;
  note: string;
  endpointUrl: string | undefined;
  message: string;
  cloudTarget: { provider: string; region: string } | undefined;
  retryAfterMs: number;
}

/** Reading and writing around a call to a publisher, milliseconds; a database that is away fails within 10 s. */
const ATTEMPT_SLACK_MS = 12_000;

const MEANING: Readonly<Record<InstallStepKind, (status: number) => PublisherAnswer>> = {
  provision: provisioningAnswer,
  deprovision: deprovisioningAnswer,
  suspend: noticeAnswer,
  resume: noticeAnswer,
};

/**
 * Reads a publisher's answer body; what is broken or too long changes nothing and is told in the timeline (decisions
 * 9.4).
 */
function readBody(body: Buffer, truncated: boolean): Pick<Answer, "endpointUrl" | "message" | "cloudTarget" | "note"> {
  const nothing = { endpointUrl: undefined, message: "", cloudTarget: undefined, note: "" };
  if (truncated) return { ...nothing, note: "; its body was too long and was not read" };
  if (body.length === 0) return nothing;
  try {
    const value = parseJson(body);
    if (typeof value !== "object" || value === null || Array.isArray(value))
      return { ...nothing, note: "; its body is not a JSON object" };
    const { endpoint_url: endpoint, message, cloud_target: cloudTarget } = value as Record<string, unknown>;
    return {
      endpointUrl: acceptableEndpoint(endpoint),
      message: readMessage(message),
      cloudTarget: readCloudTarget(cloudTarget),
      note: endpointNote(endpoint),
    };
  } catch {
    return { ...nothing, note: "; its body is not JSON" };
  }
}

/** Idempotent effects of an install's workflow. The rows hold the truth; each activity looks before it acts. */
export function createInstallActivities(deps: MarketplaceDeps) {
  const { database, clock, config, outgoing, sealer } = deps;

  async function envelope(install: Install, app: App, kind: InstallStepKind, eventId: string): Promise<string> {
    const orgName = await database.transaction((tx) => deps.orgName(tx, install.orgUuid));
    const since = install.stepSince ?? install.createdAt;
    const patience = kind === "provision" ? config.provisionDeadlineMs : config.deprovisionDeadlineMs;
    return JSON.stringify({
      type: STEP_MESSAGE[kind],
      timestamp: since.toISOString(),
      id: eventId,
      data: {
        install_id: install.installId,
        app_id: app.appId,
        slug: app.slug,
        org: { org_uuid: install.orgUuid, name: orgName },
        installed_by: install.installedBy,
        plan_id: install.planId,
        quantity: install.quantity,
        deployment_mode: install.deploymentMode,
        payment_source: install.paymentSource,
        sandbox: install.sandbox,
        callback_url: `${config.baseUrl}/api/marketplace/installs/${install.installId}/provisioning`,
        expires_at: new Date(since.getTime() + patience).toISOString(),
      },
    });
  }

  async function post(install: Install, app: App, kind: InstallStepKind, id: string): Promise<Answer> {
    const body = await envelope(install, app, kind, id);
    const secret = sealer.open(app.webhookSecret, secretContext(app.appId)).toString();
    const signature = signDelivery({ id, timestamp: Math.floor(clock.now() / 1000), body, secrets: [secret] });
    try {
      const response = await outgoing.request({
        method: "POST",
        url: app.provisionWebhook,
        headers: { "content-type": "application/json", ...signature },
        body,
        timeoutMs: config.webhookTimeoutMs,
      });
      const meaning = MEANING[kind](response.status);
      const { note, ...answer } = readBody(response.body, response.truncated);
      return {
        ...answer,
        meaning,
        note: `the publisher answered ${response.status}${note}`,
        retryAfterMs: retryAfterMs(response.headers["retry-after"], clock.now()),
      };
    } catch (error) {
      return {
        meaning: "retry",
        endpointUrl: undefined,
        message: "",
        cloudTarget: undefined,
        note: `no answer: ${error instanceof Error ? error.message : "unknown"}`,
        retryAfterMs: 0,
      };
    }
  }

  async function audited(tx: Tx, type: MarketplaceAuditType, install: Install): Promise<void> {
    await deps.audit(tx, {
      type,
      orgUuid: install.orgUuid,
      caller: null,
      info: null,
      resourceType: "install",
      resourceId: install.installId,
      metadata: { install_id: install.installId, app_id: install.appId },
    });
  }

  async function applyDone(tx: Tx, install: Install, kind: InstallStepKind, answer: Answer): Promise<void> {
    const at = dateOf(clock);
    const detail = answer.message === "" ? answer.note : `${answer.note}: ${answer.message}`;
    if (kind === "provision") {
      install.activate(at, answer.endpointUrl);
      await store.keepCloudTarget(tx, deps.random.uuid(), install, answer.cloudTarget, at);
      await store.addTimeline(tx, install.installId, at, "active", detail);
      await audited(tx, "install.active", install);
    } else if (kind === "deprovision") {
      install.finishDeprovisioning(at);
      await store.addTimeline(tx, install.installId, at, "deprovisioned", detail);
      await audited(tx, "install.deprovisioned", install);
    } else {
      install.settle();
    }
  }

  async function giveUp(tx: Tx, install: Install, kind: InstallStepKind, reason: string): Promise<void> {
    const at = dateOf(clock);
    if (kind === "provision") {
      install.failProvisioning(at, reason);
      await store.addTimeline(tx, install.installId, at, "failed", reason);
      await audited(tx, "install.failed", install);
    } else if (kind === "deprovision") {
      install.finishDeprovisioning(at);
      await store.addTimeline(tx, install.installId, at, "forced", reason);
      await store.addTimeline(tx, install.installId, at, "deprovisioned", "given up waiting for the publisher");
      await audited(tx, "install.deprovisioned", install);
    } else {
      install.settle();
      await store.addTimeline(
        tx,
        install.installId,
        at,
        "notice_failed",
        `${STEP_MESSAGE[kind]} never reached the publisher: ${reason}`,
      );
    }
  }

  /** Runs `apply` on the locked row while the very same step still stands. */
  async function onStep(
    installId: string,
    eventId: string,
    apply: (tx: Tx, install: Install, kind: InstallStepKind) => Promise<AttemptResult>,
  ): Promise<AttemptResult> {
    return database.transaction(async (tx) => {
      const install = await store.lockInstall(tx, installId);
      const pending = install?.pending();
      if (!install || pending?.eventId !== eventId) return { kind: "settled" };
      return apply(tx, install, pending.kind);
    });
  }

  return {
    /** What the row asks for now. */
    async nextInstallStep(installId: string): Promise<InstallStep> {
      const install = await database.read((em) => store.installById(em, installId));
      const pending = install?.pending();
      if (!pending) return { kind: "none" };
      const notice = pending.kind === "suspend" || pending.kind === "resume";
      return {
        kind: pending.kind,
        eventId: pending.eventId,
        accepted: pending.accepted,
        remainingMs: Math.max(0, pending.deadline.getTime() - clock.now()),
        schedule: [...config.schedule],
        attemptMs: config.webhookTimeoutMs + ATTEMPT_SLACK_MS,
        attempts: notice ? config.schedule.length : null,
      };
    },

    /** One signed call to the publisher and what follows from its answer. */
    async attemptInstallStep(installId: string, eventId: string): Promise<AttemptResult> {
      const found = await database.read(async (em) => {
        const install = await store.installById(em, installId);
        const app = install === null ? null : await store.appById(em, install.appId);
        const pending = install?.pending();
        return install === null || app === null || pending?.eventId !== eventId
          ? null
          : { install, app, kind: pending.kind };
      });
      if (found === null) return { kind: "settled" };
      const answer = await post(found.install, found.app, found.kind, eventId);
      return onStep(installId, eventId, async (tx, install, kind) => {
        const at = dateOf(clock);
        switch (answer.meaning) {
          case "done":
            // It is about to be given back; until its turn comes nothing begins.
            if (kind !== "deprovision" && !(await deps.orgLives(tx, install.orgUuid)))
              return { kind: "retry", retryAfterMs: 0 };
            await applyDone(tx, install, kind, answer);
            return { kind: "settled" };
          case "refused":
            await giveUp(tx, install, kind, answer.message || answer.note);
            return { kind: "settled" };
          case "accepted":
            install.accept(
              at,
              kind === "provision" ? dateOf(clock, config.provisionDeadlineMs) : (install.stepDeadline ?? at),
            );
            await store.addTimeline(tx, installId, at, "accepted", answer.note);
            return { kind: "accepted" };
          case "retry":
            await store.addTimeline(tx, installId, at, "attempt_failed", answer.note);
            return { kind: "retry", retryAfterMs: answer.retryAfterMs };
        }
      });
    },

    /** Ends a step whose patience is over: a provisioning fails, a deprovisioning is forced, a notice is dropped. */
    async expireInstallStep(installId: string, eventId: string): Promise<void> {
      await onStep(installId, eventId, async (tx, install, kind) => {
        const accepted = install.pending()?.accepted === true;
        const last = accepted ? undefined : await store.lastFailure(tx, installId, install.stepSince ?? null);
        await giveUp(
          tx,
          install,
          kind,
          accepted
            ? "the publisher accepted but never reported the outcome"
            : `no usable answer of the publisher in time; the last attempt: ${last ?? "none was made"}`,
        );
        return { kind: "settled" };
      });
    },
  };
}

/** The activities as the workflow sees them. */
export type InstallActivities = ReturnType<typeof createInstallActivities>;
