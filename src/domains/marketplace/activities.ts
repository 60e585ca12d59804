import { dateOf } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import { signDelivery } from "../../platform/outgoing/signature.ts";
import { parseJson } from "../../transcoding/index.ts";
import type { MarketplaceAuditType } from "./events.ts";
import type { MarketplaceDeps } from "./deps.ts";
import { secretContext } from "./deps.ts";
import type { App, Install } from "./entities.ts";
import { acceptableEndpoint, deprovisioningAnswer, provisioningAnswer } from "./rules.ts";
import type { PublisherAnswer } from "./rules.ts";
import * as store from "./store.ts";

/** The two things a publisher is asked to do. */
export type InstallStepKind = "provision" | "deprovision";

/** What an install's workflow has to do next; durations in milliseconds. */
export type InstallStep =
  | { kind: "none" }
  | { kind: InstallStepKind; /** The publisher answered 202 and will call back. */ accepted: boolean; /** Until the step is given up. */ remainingMs: number; /** Waits before each attempt; the last repeats. */ schedule: number[] };

/** How an attempt ended. */
export type AttemptResult = { kind: "settled" | "accepted" } | { kind: "retry"; /** `Retry-After` of the publisher, milliseconds; 0: none. */ retryAfterMs: number };

interface Answer {
  meaning: PublisherAnswer;
  note: string;
  endpointUrl: string | undefined;
  message: string;
  retryAfterMs: number;
}

const STEP_OF: Partial<Record<Install["status"], InstallStepKind>> = { provisioning: "provision", deprovisioning: "deprovision" };

/** Reads a publisher's answer body; what is broken or too long changes nothing and is told in the timeline (decisions 9.4). */
function readBody(body: Buffer, truncated: boolean): { endpointUrl: string | undefined; message: string; note: string } {
  const nothing = { endpointUrl: undefined, message: "", note: "" };
  if (truncated) return { ...nothing, note: "; its body was too long and was not read" };
  if (body.length === 0) return nothing;
  try {
    const value = parseJson(body);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return { ...nothing, note: "; its body is not a JSON object" };
    const { endpoint_url: endpoint, message } = value as Record<string, unknown>;
    const endpointUrl = acceptableEndpoint(endpoint);
    const dropped = endpoint !== undefined && endpoint !== null && endpointUrl === undefined;
    return { endpointUrl, message: typeof message === "string" ? message.slice(0, 500) : "", note: dropped ? "; its endpoint_url is not an http(s) URL of at most 2,048 characters and was not kept" : "" };
  } catch {
    return { ...nothing, note: "; its body is not JSON" };
  }
}

/** `Retry-After` in both forms, as milliseconds from now; at most 24 h. */
export function retryAfterMs(value: string | undefined, nowMs: number): number {
  if (value === undefined) return 0;
  const wait = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - nowMs;
  return Number.isFinite(wait) ? Math.min(Math.max(wait, 0), 86_400_000) : 0;
}

/** Idempotent effects of an install's workflow. The rows hold the truth; each activity looks before it acts. */
export function createInstallActivities(deps: MarketplaceDeps) {
  const { database, clock, config, outgoing, sealer } = deps;

  async function envelope(install: Install, app: App, kind: InstallStepKind): Promise<{ id: string; body: string }> {
    const orgName = await database.transaction((tx) => deps.orgName(tx, install.orgUuid));
    const id = kind === "provision" ? install.provisionEventId : (install.deprovisionEventId ?? install.provisionEventId);
    const since = kind === "provision" ? install.createdAt : install.updatedAt;
    const patience = kind === "provision" ? config.provisionDeadlineMs : config.deprovisionDeadlineMs;
    const body = JSON.stringify({
      type: kind === "provision" ? "install.provisioning" : "install.deprovisioning",
      timestamp: since.toISOString(),
      id,
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
    return { id, body };
  }

  async function post(install: Install, app: App, kind: InstallStepKind): Promise<Answer> {
    const { id, body } = await envelope(install, app, kind);
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
      const meaning = (kind === "provision" ? provisioningAnswer : deprovisioningAnswer)(response.status);
      const { endpointUrl, message, note } = readBody(response.body, response.truncated);
      const retryAfter = response.headers["retry-after"];
      return { meaning, endpointUrl, message, note: `the publisher answered ${response.status}${note}`, retryAfterMs: retryAfterMs(Array.isArray(retryAfter) ? retryAfter[0] : retryAfter, clock.now()) };
    } catch (error) {
      return { meaning: "retry", endpointUrl: undefined, message: "", note: `no answer: ${error instanceof Error ? error.message : "unknown"}`, retryAfterMs: 0 };
    }
  }

  async function audited(tx: Tx, type: MarketplaceAuditType, install: Install): Promise<void> {
    await deps.audit(tx, { type, orgUuid: install.orgUuid, caller: null, info: null, resourceType: "install", resourceId: install.installId, metadata: { install_id: install.installId, app_id: install.appId } });
  }

  async function applyDone(tx: Tx, install: Install, kind: InstallStepKind, answer: Answer): Promise<void> {
    const at = dateOf(clock);
    const detail = answer.message === "" ? answer.note : `${answer.note}: ${answer.message}`;
    if (kind === "provision") install.activate(at, answer.endpointUrl);
    else install.finishDeprovisioning(at);
    await store.addTimeline(tx, install.installId, at, kind === "provision" ? "active" : "deprovisioned", detail);
    await audited(tx, kind === "provision" ? "install.active" : "install.deprovisioned", install);
  }

  async function giveUp(tx: Tx, install: Install, kind: InstallStepKind, reason: string): Promise<void> {
    const at = dateOf(clock);
    if (kind === "provision") {
      install.failProvisioning(at, reason);
      await store.addTimeline(tx, install.installId, at, "failed", reason);
      await audited(tx, "install.failed", install);
    } else {
      install.finishDeprovisioning(at);
      await store.addTimeline(tx, install.installId, at, "forced", reason);
      await store.addTimeline(tx, install.installId, at, "deprovisioned", "given up waiting for the publisher");
      await audited(tx, "install.deprovisioned", install);
    }
  }

  /** Runs `apply` on the locked row while it still is in the state of the step. */
  async function onStep(installId: string, kind: InstallStepKind, apply: (tx: Tx, install: Install) => Promise<AttemptResult>): Promise<AttemptResult> {
    return database.transaction(async (tx) => {
      const install = await store.lockInstall(tx, installId);
      if (install === null || STEP_OF[install.status] !== kind) return { kind: "settled" };
      return apply(tx, install);
    });
  }

  return {
    /** What the row asks for now. */
    async nextInstallStep(installId: string): Promise<InstallStep> {
      const install = await database.read((em) => store.installById(em, installId));
      const kind = install === null ? undefined : STEP_OF[install.status];
      if (install === null || kind === undefined) return { kind: "none" };
      return { kind, accepted: install.acceptedAt !== null, remainingMs: Math.max(0, install.stepDeadline.getTime() - clock.now()), schedule: [...config.schedule] };
    },

    /** One signed call to the publisher and what follows from its answer. */
    async attemptInstallStep(installId: string, kind: InstallStepKind): Promise<AttemptResult> {
      const found = await database.read(async (em) => {
        const install = await store.installById(em, installId);
        const app = install === null ? null : await store.appById(em, install.appId);
        return install === null || app === null || STEP_OF[install.status] !== kind ? null : { install, app };
      });
      if (found === null) return { kind: "settled" };
      const answer = await post(found.install, found.app, kind);
      return onStep(installId, kind, async (tx, install) => {
        const at = dateOf(clock);
        switch (answer.meaning) {
          case "done":
            await applyDone(tx, install, kind, answer);
            return { kind: "settled" };
          case "refused":
            await giveUp(tx, install, kind, answer.message || answer.note);
            return { kind: "settled" };
          case "accepted":
            install.accept(at, dateOf(clock, kind === "provision" ? config.provisionDeadlineMs : Math.max(0, install.stepDeadline.getTime() - clock.now())));
            await store.addTimeline(tx, installId, at, "accepted", answer.note);
            return { kind: "accepted" };
          case "retry":
            await store.addTimeline(tx, installId, at, "attempt_failed", answer.note);
            return { kind: "retry", retryAfterMs: answer.retryAfterMs };
        }
      });
    },

    /** Ends a step whose deadline has passed: a provisioning fails, a deprovisioning is forced. */
    async expireInstallStep(installId: string, kind: InstallStepKind): Promise<void> {
      await onStep(installId, kind, async (tx, install) => {
        const waited = install.acceptedAt === null ? "the publisher could not be reached in time" : "the publisher accepted but never reported the outcome";
        await giveUp(tx, install, kind, waited);
        return { kind: "settled" };
      });
    },
  };
}

/** The activities as the workflow sees them. */
export type InstallActivities = ReturnType<typeof createInstallActivities>;
