import { setTimeout as sleep } from "node:timers/promises";
import { elevate } from "../support/elevate.ts";
import {
  deletedWhileRetrying,
  giveBack,
  gone,
  heard,
  installed,
  notified,
  paused,
  provisioned,
  reportedEarly,
  rotated,
  seen,
  signalled,
} from "./walks.ts";
import type { Ground } from "./walks.ts";

/** One path of a workflow. */
export interface WorkflowPath {
  /**
   * Settings that differ: deadlines and overlaps short enough to wait for; a Temporal that finds histories long soon;
   * a payment provider.
   */
  setting: "patient" | "hasty" | "soon-long" | "paying";
  /** Runs it to its end and resolves to the id of the workflow. */
  walk(ground: Ground): Promise<string>;
}

/** Every path of the workflows, by the name of the file its history is kept in. */
export const paths: Readonly<Record<string, WorkflowPath>> = {
  "install-done": { setting: "patient", walk: (ground) => installed(ground, () => ({ status: 200 }), "active") },
  "install-accepted-then-reported": {
    setting: "patient",
    walk: (ground) =>
      installed(
        ground,
        () => ({ status: 202 }),
        "active",
        async (installId, offer) => {
          await seen(ground, installId, "accepted");
          await offer.report(installId, { status: "active" });
        },
      ),
  },
  "install-reported-failed": {
    setting: "patient",
    walk: (ground) =>
      installed(
        ground,
        () => ({ status: 202 }),
        "deprovisioned",
        async (installId, offer) => {
          await seen(ground, installId, "accepted");
          await offer.report(installId, { status: "failed" });
        },
      ),
  },
  "install-reported-before-the-202": { setting: "patient", walk: reportedEarly },
  "install-refused": {
    setting: "patient",
    walk: (ground) => installed(ground, () => ({ status: 422 }), "deprovisioned"),
  },
  "install-retried": {
    setting: "patient",
    walk: (ground) => installed(ground, (_call, nth) => ({ status: nth < 3 ? 503 : 200 }), "active"),
  },
  "install-told-when-to-retry": {
    setting: "patient",
    walk: (ground) =>
      installed(
        ground,
        (_call, nth) => (nth === 1 ? { status: 503, headers: { "retry-after": "1" } } : { status: 200 }),
        "active",
      ),
  },
  "install-signalled-for-nothing": {
    setting: "patient",
    walk: (ground) =>
      installed(
        ground,
        (_call, nth) => (nth === 1 ? { status: 503, headers: { "retry-after": "2" } } : { status: 200 }),
        "active",
        async (installId) => {
          await seen(ground, installId, "attempt_failed");
          await ground.signal(`install/${installId}`, "install-changed");
        },
      ),
  },
  "install-signalled-often": {
    setting: "soon-long",
    walk: (ground) =>
      installed(
        ground,
        (_call, nth) => (nth === 1 ? { status: 503, headers: { "retry-after": "3" } } : { status: 200 }),
        "active",
        async (installId) => {
          await seen(ground, installId, "attempt_failed");
          await signalled(ground, `install/${installId}`, "install-changed");
        },
      ),
  },
  "install-attempted-often": {
    setting: "soon-long",
    walk: (ground) => installed(ground, (_call, nth) => ({ status: nth < 8 ? 503 : 200 }), "active"),
  },
  "install-never-answered": {
    setting: "hasty",
    walk: (ground) => installed(ground, () => ({ status: 500 }), "deprovisioned"),
  },
  "install-accepted-and-forgotten": {
    setting: "hasty",
    walk: (ground) => installed(ground, () => ({ status: 202 }), "deprovisioned"),
  },
  "install-cancelled": {
    setting: "patient",
    walk: (ground) =>
      installed(
        ground,
        ({ type }) => ({ status: type === "install.provisioning" ? 500 : 200 }),
        "deprovisioned",
        async (installId) => {
          await seen(ground, installId, "attempt_failed");
          await giveBack(ground, installId);
        },
      ),
  },
  "install-cancelled-in-flight": {
    setting: "patient",
    walk: (ground) =>
      installed(
        ground,
        async ({ type }) => {
          if (type === "install.provisioning") await sleep(800);
          return { status: 200 };
        },
        "deprovisioned",
        async (installId, offer) => {
          await heard(() => offer.server.calls.length > 0);
          await giveBack(ground, installId);
        },
      ),
  },
  "install-cancelled-after-202": {
    setting: "patient",
    walk: (ground) =>
      installed(
        ground,
        ({ type }) => ({ status: type === "install.provisioning" ? 202 : 204 }),
        "deprovisioned",
        async (installId) => {
          await seen(ground, installId, "accepted");
          await giveBack(ground, installId);
        },
      ),
  },
  "deprovision-done": { setting: "patient", walk: (ground) => gone(ground, provisioned(204)) },
  "deprovision-retried": {
    setting: "patient",
    walk: (ground) => gone(ground, (_call, nth) => ({ status: nth === 2 ? 503 : 200 })),
  },
  "deprovision-accepted-then-reported": {
    setting: "patient",
    walk: (ground) =>
      gone(ground, provisioned(202), async (installId, offer) => {
        await seen(ground, installId, "accepted");
        await offer.report(installId, { status: "deprovisioned" });
      }),
  },
  "deprovision-accepted-and-forgotten": { setting: "hasty", walk: (ground) => gone(ground, provisioned(202)) },
  "deprovision-forced": { setting: "hasty", walk: (ground) => gone(ground, provisioned(500)) },
  "suspended-and-resumed": {
    setting: "patient",
    walk: (ground) =>
      paused(ground, provisioned(204), async (offer, kind) =>
        heard(() => offer.server.calls.some(({ type }) => type === `install.${kind}`)),
      ),
  },
  "suspension-notice-lost": {
    setting: "patient",
    walk: (ground) =>
      paused(ground, provisioned(500), async (_offer, _kind, installId) => seen(ground, installId, "notice_failed")),
  },
  "notice-overtaken": {
    setting: "patient",
    walk: (ground) =>
      paused(
        ground,
        ({ type }) => ({ status: type === "install.suspended" ? 500 : 200 }),
        async (_offer, kind, installId) =>
          kind === "suspended" ? seen(ground, installId, "attempt_failed") : Promise.resolve(),
      ),
  },
  "payments-reconciled": {
    setting: "paying",
    walk: async ({ app }) => {
      const token = await app.login();
      const asked = await app.call("POST", "/api/operator/billing/reconcile", { token, body: {} });
      return asked.body.workflow_id as string;
    },
  },
  "payments-reconciled-daily": { setting: "paying", walk: ({ trigger }) => trigger("billing-reconcile") },
  "webhook-answers-again": {
    setting: "patient",
    walk: (ground) => notified(ground, (_post, nth) => (nth < 3 ? 500 : 204), 6),
  },
  "webhook-deleted": { setting: "patient", walk: deletedWhileRetrying },
  "webhook-retried": { setting: "patient", walk: (ground) => notified(ground, (_post, nth) => (nth < 3 ? 500 : 204)) },
  "webhook-retried-in-batches": {
    setting: "patient",
    walk: (ground) => notified(ground, (_post, nth) => (nth < 16 ? 500 : 204), 12),
  },
  "webhook-continued-as-new": {
    setting: "soon-long",
    walk: (ground) => notified(ground, (_post, nth) => (nth < 4 ? 500 : 204)),
  },
  "webhook-signalled-often": {
    setting: "soon-long",
    walk: (ground) =>
      notified(ground, (_post, nth) => (nth === 1 ? 500 : 204), 1, {
        headers: { "retry-after": "3" },
        meanwhile: (workflowId) => signalled(ground, workflowId, "deliveries-changed"),
      }),
  },
  "webhook-exhausted": { setting: "patient", walk: (ground) => notified(ground, () => 503) },
  "webhook-gone": { setting: "patient", walk: (ground) => notified(ground, (_post, nth) => (nth === 1 ? 500 : 410)) },
  "key-overlap-ended": {
    setting: "hasty",
    async walk(ground) {
      return `key-rotation/${(await rotated(ground)).kid}`;
    },
  },
  "key-deleted-early": {
    setting: "patient",
    async walk(ground) {
      const { org, kid } = await rotated(ground);
      const token = await ground.app.login();
      // The workflow must have begun to wait, so that the deletion arrives as a signal.
      await sleep(1_000);
      const { status, text } = await ground.app.call("DELETE", `/api/admin/organizations/${org}/signing-keys/${kid}`, {
        token: await elevate(ground.app, token),
      });
      if (status !== 204) throw new Error(`deletion answered ${status}: ${text}`);
      return `key-rotation/${kid}`;
    },
  },
};
