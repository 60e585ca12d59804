import { create, toBinary } from "@bufbuild/protobuf";
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { UpdateAppRequestSchema } from "../../gen/atrium/marketplace/v1/publishing_pb.ts";
import { callRest, startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { draftOf } from "../support/market.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let owner: Somebody;
let appId: string;
let webhookId: string;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  owner = await founder(app);
  const draft = draftOf(`lists-${randomBytes(4).toString("hex")}`, "https://publisher.example/hook");
  const plans = [{ plan_id: "gold", name: "Gold", price_cents: 100, interval: "month" }];
  const { token } = owner;
  appId = (await app.call("POST", "/api/marketplace/apps", { token, body: { ...draft, plans } })).body.app_id;
  const webhook = { url: "https://hooks.example/x", events: ["user.created"] };
  webhookId = (await app.call("POST", "/api/v2/webhooks", { token, body: webhook })).body.webhook_id;
});
afterAll(() => app.close());

const changeApp = (body: unknown): Promise<Answer> =>
  app.call("PATCH", `/api/marketplace/apps/${appId}`, { token: owner.token, body });
const changeWebhook = (body: unknown): Promise<Answer> =>
  app.call("PATCH", `/api/v2/webhooks/${webhookId}`, { token: owner.token, body });
const connect = (method: string, body: object): Promise<Answer> =>
  app.call("POST", `/atrium.${method}`, { token: owner.token, body });

describe("Empty lists in a PATCH", () => {
  it("an empty list is refused for modes and plans of an app and for events of a webhook", async () => {
    for (const field of ["deployment_modes", "deploymentModes"]) {
      expect(await changeApp({ [field]: [] })).toMatchObject({
        status: 400,
        body: { code: "validation_error", errors: [{ field: "deployment_modes", code: "too_few" }] },
      });
    }
    expect(await changeApp({ name: "New", plans: [] })).toMatchObject({
      status: 400,
      body: { code: "validation_error", errors: [{ field: "plans", code: "too_few" }] },
    });
    expect(await changeWebhook({ events: [] })).toMatchObject({
      status: 400,
      body: { code: "validation_error", errors: [{ field: "events", code: "too_few" }] },
    });
  });

  it("an empty list is refused over the JSON of Connect as well", async () => {
    const violation = (field: string) => ({
      status: 400,
      body: {
        code: "invalid_argument",
        details: [
          { debug: { reason: "VALIDATION_ERROR" } },
          { debug: { field_violations: [{ field, reason: "TOO_FEW" }] } },
        ],
      },
    });
    expect(
      await connect("marketplace.v1.PublisherService/UpdateApp", { app_id: appId, deploymentModes: [] }),
    ).toMatchObject(violation("deployment_modes"));
    expect(
      await connect("webhooks.v1.WebhooksService/UpdateWebhook", { webhook_id: webhookId, events: [] }),
    ).toMatchObject(violation("events"));
  });

  it("an absent list or null changes nothing", async () => {
    for (const body of [{}, { deployment_modes: null, plans: null }]) {
      expect(await changeApp(body)).toMatchObject({
        status: 200,
        body: { name: "Orbit", deployment_modes: ["multi_tenant"], plans: [{ plan_id: "gold" }] },
      });
    }
    expect(await changeWebhook({ events: null })).toMatchObject({ status: 200, body: { events: ["user.created"] } });
  });

  it("an empty list in a binary message equals an absent one and changes nothing", async () => {
    const body = toBinary(UpdateAppRequestSchema, create(UpdateAppRequestSchema, { appId, deploymentModes: [] }));
    const headers = { "content-type": "application/proto" };
    expect(
      (
        await callRest(app.url, "POST", "/atrium.marketplace.v1.PublisherService/UpdateApp", {
          token: owner.token,
          body,
          headers,
        })
      ).status,
    ).toBe(200);
    expect((await changeApp({})).body.deployment_modes).toEqual(["multi_tenant"]);
  });

  it("an empty list clears the mail domains of an organization", async () => {
    const change = (jit_domains: string[]) =>
      app.call("PATCH", `/api/organizations/${owner.org}`, { token: owner.token, body: { jit_domains } });
    expect(await change(["lists.example"])).toMatchObject({ status: 200, body: { jit_domains: ["lists.example"] } });
    expect(await change([])).toMatchObject({ status: 200, body: { jit_domains: [] } });
  });
});
