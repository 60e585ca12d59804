import { setTimeout as sleep } from "node:timers/promises";
import type { TestApp } from "../support/app.ts";
import { elevate } from "../support/elevate.ts";
import type { Market } from "../support/market.ts";
import { startReceiver } from "../webhooks/receiver.ts";
import type { Received } from "../webhooks/receiver.ts";

/** What a path of a workflow runs on. */
export interface Ground {
  app: TestApp;
  market: Market;
  /** Sends a workflow its kind of signal, as when something it waits for has changed. */
  signal(workflowId: string, name: string): Promise<void>;
  /** Starts the workflow of a schedule now; returns its id. */
  trigger(scheduleId: string): Promise<string>;
}

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

type Answering = Parameters<Market["offer"]>[0];
const provisioned =
  (then: number): Answering =>
  ({ type }) => ({ status: type === "install.provisioning" ? 200 : then });

/** Installs an app of a publisher who responds like this, continues with `more`, and waits for the final state. */
async function installed(
  { market }: Ground,
  answer: Answering,
  end: "active" | "deprovisioned",
  more: (installId: string, offer: Awaited<ReturnType<Market["offer"]>>) => Promise<unknown> = () => Promise.resolve(),
): Promise<string> {
  const offer = await market.offer(answer);
  const { status, text, body } = await offer.install();
  if (status !== 202) throw new Error(`install answered ${status}: ${text}`);
  const installId = body.install_id as string;
  await more(installId, offer);
  await market.until(installId, end);
  return `install/${installId}`;
}

const seen = async ({ market }: Ground, installId: string, event: string): Promise<void> => {
  for (const end = Date.now() + 120_000; Date.now() < end; await sleep(20)) {
    if ((await market.read(installId)).timeline.some((line) => line.event === event)) return;
  }
  throw new Error(`${event} was never seen`);
};
const giveBack = ({ app, market }: Ground, installId: string) =>
  app.call("DELETE", `/api/installs/${installId}`, { token: market.buyer });

/** Waits until every delivery of a webhook is settled. */
async function delivered({ app, market }: Ground, webhookId: string): Promise<void> {
  for (const end = Date.now() + 120_000; Date.now() < end; await sleep(50)) {
    const { data } = (await app.call("GET", `/api/v2/webhooks/${webhookId}/deliveries`, { token: market.buyer }))
      .body as { data: { status: string }[] };
    if (data.length > 0 && data.every(({ status }) => status !== "pending")) return;
  }
  throw new Error("deliveries stay pending");
}

/** Sends `events` test events to a webhook whose receiver responds like this. */
async function notified(
  ground: Ground,
  answer: (post: Received, nth: number) => number,
  events = 1,
  {
    headers = {},
    meanwhile = () => Promise.resolve(),
  }: { headers?: Record<string, string>; meanwhile?: (workflowId: string) => Promise<void> } = {},
): Promise<string> {
  const { app, market } = ground;
  const receiver = await startReceiver(answer, () => headers);
  const { body } = await app.call("POST", "/api/v2/webhooks", {
    token: market.buyer,
    body: { url: receiver.url, events: ["user.created"] },
  });
  const webhookId = body.webhook_id as string;
  await Promise.all(
    Array.from({ length: events }, () =>
      app.call("POST", `/api/v2/webhooks/${webhookId}/test`, { token: market.buyer }),
    ),
  );
  await meanwhile(`webhook-retries/${webhookId}`);
  await delivered(ground, webhookId);
  await receiver.close();
  return `webhook-retries/${webhookId}`;
}

/** Signals a workflow, once it exists, more often than a short history allows. */
async function signalled({ signal }: Ground, workflowId: string, name: string): Promise<void> {
  for (let sent = 0, end = Date.now() + 120_000; sent < 10; await sleep(100)) {
    sent += await signal(workflowId, name).then(
      () => 1,
      () => 0,
    );
    if (Date.now() > end) throw new Error(`${workflowId} was never there`);
  }
}

/** A key that was replaced by a rotation. */
async function rotated({ app }: Ground): Promise<{ org: string; kid: string }> {
  const token = await app.login();
  const org = (await app.call("GET", "/api/auth/me", { token })).body.org_uuid as string;
  const { status, text, body } = await app.call("POST", `/api/admin/organizations/${org}/signing-keys/rotate`, {
    token: await elevate(app, token),
  });
  if (status !== 200) throw new Error(`rotation answered ${status}: ${text}`);
  return { org, kid: body.previous_key_id as string };
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

async function gone(
  ground: Ground,
  answer: Answering,
  more: Parameters<typeof installed>[3] = () => Promise.resolve(),
): Promise<string> {
  return installed(ground, answer, "deprovisioned", async (installId, offer) => {
    await ground.market.until(installId, "active");
    await giveBack(ground, installId);
    await more(installId, offer);
  });
}

async function heard(test: () => boolean): Promise<void> {
  for (const end = Date.now() + 120_000; !test(); await sleep(20))
    if (Date.now() > end) throw new Error("the publisher was never told");
}

async function paused(
  ground: Ground,
  answer: Answering,
  told: (offer: Awaited<ReturnType<Market["offer"]>>, kind: string, installId: string) => Promise<void>,
): Promise<string> {
  const { app, market } = ground;
  return installed(ground, answer, "active", async (installId, offer) => {
    await market.until(installId, "active");
    for (const [verb, kind] of [
      ["suspend", "suspended"],
      ["resume", "resumed"],
    ] as const) {
      await app.call("POST", `/api/marketplace/apps/${offer.appId}/installs/${installId}/${verb}`, {
        token: market.publisher,
        body: {},
      });
      await told(offer, kind, installId);
    }
  });
}

async function reportedEarly({ market }: Ground): Promise<string> {
  const offer: Awaited<ReturnType<Market["offer"]>> = await market.offer(async ({ data }) => {
    await offer.report(data.install_id, { status: "active" });
    return { status: 202 };
  });
  const installId = (await offer.install()).body.install_id as string;
  await market.until(installId, "active");
  return `install/${installId}`;
}

async function deletedWhileRetrying({ app, market }: Ground): Promise<string> {
  const receiver = await startReceiver(() => 500);
  const { body } = await app.call("POST", "/api/v2/webhooks", {
    token: market.buyer,
    body: { url: receiver.url, events: ["user.created"] },
  });
  const webhookId = body.webhook_id as string;
  await app.call("POST", `/api/v2/webhooks/${webhookId}/test`, { token: market.buyer });
  await receiver.waitFor(2);
  await app.call("DELETE", `/api/v2/webhooks/${webhookId}`, { token: market.buyer });
  await receiver.close();
  return `webhook-retries/${webhookId}`;
}
