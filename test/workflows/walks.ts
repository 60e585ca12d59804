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

/** How the publisher of an app responds. */
export type Answering = Parameters<Market["offer"]>[0];

/** A publisher who provisions at once, and responds to all else with `then`. */
export const provisioned =
  (then: number): Answering =>
  ({ type }) => ({ status: type === "install.provisioning" ? 200 : then });

/** Installs an app of a publisher who responds like this, continues with `more`, and waits for the final state. */
export async function installed(
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

/** Waits for an entry of an install's timeline. */
export const seen = async ({ market }: Ground, installId: string, event: string): Promise<void> => {
  for (const end = Date.now() + 120_000; Date.now() < end; await sleep(20)) {
    if ((await market.read(installId)).timeline.some((line) => line.event === event)) return;
  }
  throw new Error(`${event} was never seen`);
};

/** Uninstalls. */
export const giveBack = ({ app, market }: Ground, installId: string) =>
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
export async function notified(
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
export async function signalled({ signal }: Ground, workflowId: string, name: string): Promise<void> {
  for (let sent = 0, end = Date.now() + 120_000; sent < 10; await sleep(100)) {
    sent += await signal(workflowId, name).then(
      () => 1,
      () => 0,
    );
    if (Date.now() > end) throw new Error(`${workflowId} was never there`);
  }
}

/** A key that was replaced by a rotation. */
export async function rotated({ app }: Ground): Promise<{ org: string; kid: string }> {
  const token = await app.login();
  const org = (await app.call("GET", "/api/auth/me", { token })).body.org_uuid as string;
  const { status, text, body } = await app.call("POST", `/api/admin/organizations/${org}/signing-keys/rotate`, {
    token: await elevate(app, token),
  });
  if (status !== 200) throw new Error(`rotation answered ${status}: ${text}`);
  return { org, kid: body.previous_key_id as string };
}

/** An install that is given back once it is active. */
export async function gone(
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

/** Waits until a publisher has been told. */
export async function heard(test: () => boolean): Promise<void> {
  for (const end = Date.now() + 120_000; !test(); await sleep(20))
    if (Date.now() > end) throw new Error("the publisher was never told");
}

/** An install that is suspended and resumed once it is active. */
export async function paused(
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

/** An install whose publisher reports before it responds. */
export async function reportedEarly({ market }: Ground): Promise<string> {
  const offer: Awaited<ReturnType<Market["offer"]>> = await market.offer(async ({ data }) => {
    await offer.report(data.install_id, { status: "active" });
    return { status: 202 };
  });
  const installId = (await offer.install()).body.install_id as string;
  await market.until(installId, "active");
  return `install/${installId}`;
}

/** A webhook that is deleted while its deliveries are retried. */
export async function deletedWhileRetrying({ app, market }: Ground): Promise<string> {
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
