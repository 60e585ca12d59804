import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { appPath, must, publish } from "../marketplace/stage.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { temporalServer } from "../support/temporal.ts";
import { startReceiver } from "./receiver.ts";
import type { Receiver } from "./receiver.ts";

let app: TestApp;
let admin: string;
let [publisher, buyer]: Somebody[] = [];
const receivers: Receiver[] = [];
beforeAll(async () => {
  app = await startApp({
    role: "all",
    temporal: await temporalServer(),
    clock: systemClock,
    env: { SERVICE_OPEN_SIGNUP: "1" },
  });
  admin = await app.login();
  [publisher, buyer] = [await founder(app), await founder(app)];
});
afterAll(async () => {
  await app.close();
  await Promise.all(receivers.map((receiver) => receiver.close()));
});

async function hears(who: Somebody | undefined, more: Record<string, unknown> = {}): Promise<Receiver> {
  const receiver = await startReceiver();
  receivers.push(receiver);
  must(
    await app.call("POST", "/api/v2/webhooks", {
      token: who?.token,
      body: { url: receiver.url, events: ["*"], ...more },
    }),
  );
  return receiver;
}
const types = ({ got }: Receiver): string[] => got.map(({ event }) => event.type as string).sort();

it("events of an install are sent once to the app's webhooks and to the buyer's, not to those of the publisher's organization", async () => {
  const provision = await startReceiver((_post, nth) => (nth === 1 ? 422 : 200));
  receivers.push(provision);
  const { appId, slug } = await publish(app, publisher?.token ?? "", { provision_webhook: provision.url });
  const [ofApp, ofBuyer, ofPublisher] = [
    await hears(publisher, { scope: "app", app_id: appId }),
    await hears(buyer),
    await hears(publisher),
  ];
  must(await app.call("POST", `/api/admin/marketplace/apps/${appId}/approve`, { token: admin }));
  const install = async (): Promise<string> =>
    must(await app.call("POST", `/api/marketplace/${slug}/install`, { token: buyer?.token, body: {} }))
      .install_id as string;
  const until = (id: string, status: string) =>
    expect
      .poll(async () => must(await app.call("GET", `/api/installs/${id}`, { token: buyer?.token })).status as string)
      .toBe(status);

  await until(await install(), "deprovisioned");
  const id = await install();
  await until(id, "active");
  for (const verb of ["suspend", "resume"])
    must(await app.call("POST", appPath(appId, `/installs/${id}/${verb}`), { token: publisher?.token, body: {} }));
  must(await app.call("DELETE", `/api/installs/${id}`, { token: buyer?.token }));
  await until(id, "deprovisioned");
  must(await app.call("POST", appPath(appId, "/archive"), { token: publisher?.token, body: {} }));

  const installs = [
    "active",
    "deprovisioned",
    "deprovisioning",
    "failed",
    "provisioning",
    "provisioning",
    "resumed",
    "suspended",
  ].map((name) => `install.${name}`);
  await expect.poll(() => types(ofApp)).toEqual(["app.archived", "app.published", ...installs]);
  await expect.poll(() => types(ofBuyer)).toEqual(installs);
  await expect.poll(() => types(ofPublisher)).toEqual(["app.archived", "app.published"]);
  for (const { event } of ofBuyer.got) {
    expect(event).toMatchObject({ org_uuid: buyer?.org, data: { install_id: expect.any(String), app_id: appId } });
    expect(
      ofApp.got.filter((post) => post.event.id === event.id).map(({ body }) => JSON.parse(body) as unknown),
    ).toEqual([event]);
  }
  for (const { event } of ofPublisher.got)
    expect(event).toMatchObject({ org_uuid: publisher?.org, data: { app_id: appId, slug } });
});
