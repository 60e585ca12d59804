import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { founder, member, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { appPath, must, publish } from "./stage.ts";

let app: TestApp;
let admin: string;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp();
  admin = await app.login();
  owner = await founder(app);
});
afterAll(() => app.close());

const post = (path: string, token: string, body: object = {}): Promise<Answer> =>
  app.call("POST", path, { token, body });

it.each(["draft", "rejected", "archived"])(
  "an app that is %s is installed by nobody, whoever sees it",
  async (status) => {
    const maker = await member(app, owner, 1);
    const { appId, slug } = await publish(app, maker.token, {}, status === "archived" ? admin : undefined);
    if (status === "archived") must(await post(appPath(appId, "/archive"), maker.token));
    if (status === "rejected") must(await post(`/api/admin/marketplace/apps/${appId}/reject`, admin));
    const buyer = await founder(app);
    for (const token of [maker.token, owner.token, admin]) {
      expect((await app.call("GET", `/api/marketplace/${slug}`, { token })).body).toMatchObject({ slug, status });
      expect(outcome(await post(`/api/marketplace/${slug}/install`, token))).toBe("404 app_not_found");
    }
    expect(outcome(await app.call("GET", `/api/marketplace/${slug}`, { token: buyer.token }))).toBe(
      "404 app_not_found",
    );
    expect(outcome(await post(`/api/marketplace/${slug}/install`, buyer.token))).toBe("404 app_not_found");
  },
);

it("an install of an app that is archived meanwhile is provisioned, suspended, resumed and deprovisioned", async () => {
  const { appId, slug, secret } = await publish(app, owner.token, {}, admin);
  const buyer = await founder(app);
  const { install_id: id } = must(await post(`/api/marketplace/${slug}/install`, buyer.token));
  must(await post(appPath(appId, "/archive"), owner.token));
  const report = async (status: string): Promise<void> => {
    const body = JSON.stringify({ status });
    const [event, now] = [`evt_${status}`, new Date(app.clock.now())];
    const headers = {
      "content-type": "application/json",
      "webhook-id": event,
      "webhook-timestamp": String(Math.floor(now.getTime() / 1_000)),
      "webhook-signature": new Webhook(secret).sign(event, now, body),
    };
    must(await app.call("POST", `/api/marketplace/installs/${id as string}/provisioning`, { headers, body }));
  };
  const path = `/api/installs/${id as string}`;
  const present = async (): Promise<unknown> => must(await app.call("GET", path, { token: buyer.token })).status;
  await report("active");
  expect(await present()).toBe("active");
  must(await post(appPath(appId, `/installs/${id as string}/suspend`), owner.token));
  expect(await present()).toBe("suspended");
  must(await post(appPath(appId, `/installs/${id as string}/resume`), owner.token));
  expect(await present()).toBe("active");
  must(await app.call("DELETE", path, { token: buyer.token }));
  await report("deprovisioned");
  expect(await present()).toBe("deprovisioned");
  expect(outcome(await post(`/api/marketplace/${slug}/install`, buyer.token))).toBe("404 app_not_found");
});
