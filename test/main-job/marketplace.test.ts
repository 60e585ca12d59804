import { randomUUID } from "node:crypto";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BuyerService } from "../../gen/atrium/marketplace/v1/buyer_pb.ts";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { draftOf, signUp } from "../support/market.ts";

let app: TestApp;
let admin: string;
let publisher: Awaited<ReturnType<typeof signUp>>;
let buyer: Awaited<ReturnType<typeof signUp>>;
beforeAll(async () => {
  app = await startApp();
  admin = await app.login();
  [publisher, buyer] = [await signUp(app, "Orbit"), await signUp(app)];
});
afterAll(() => app.close());

const webhook = "https://orbit.example/hooks";
const slugOf = (): string => `a-${randomUUID().slice(0, 13)}`;
const publish = (body: unknown, token = publisher.token): Promise<Answer> =>
  app.call("POST", "/api/marketplace/apps", { token, body });
const approve = (appId: string, token = admin): Promise<Answer> =>
  app.call("POST", `/api/admin/marketplace/apps/${appId}/approve`, { token });
const install = (slug: string, body: unknown = {}, token = buyer.token): Promise<Answer> =>
  app.call("POST", `/api/marketplace/${slug}/install`, { token, body });

async function published(more: Record<string, unknown> = {}): Promise<{ slug: string; appId: string }> {
  const slug = slugOf();
  const { body } = await publish({ ...draftOf(slug, webhook), ...more });
  await approve(body.app_id as string);
  return { slug, appId: body.app_id as string };
}

describe("publishing", () => {
  it("publishing returns 201 with the secret, once, and creates a draft that nobody else sees", async () => {
    const slug = slugOf();
    const made = await publish(draftOf(slug, webhook));
    expect(made).toMatchObject({ status: 201, body: { slug, status: "draft" } });
    expect(Object.keys(made.body).sort()).toEqual(["app_id", "slug", "status", "webhook_secret"]);
    expect(made.body.webhook_secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/u);
    expect(made.headers.get("cache-control")).toBe("no-store");
    expect((await app.call("GET", `/api/marketplace/${slug}`, { token: buyer.token })).body).toMatchObject({
      status: 404,
      code: "app_not_found",
    });
    const own = await app.call("GET", `/api/marketplace/${slug}`, { token: publisher.token });
    expect(own.body).toMatchObject({
      status: "draft",
      published_at: null,
      provision_webhook: webhook,
      publisher: { org_uuid: publisher.orgUuid, name: "Orbit" },
      plans: [{ plan_id: "default", price_cents: 1900, interval: "month" }],
    });
    expect(own.text).not.toContain(made.body.webhook_secret);
    for (const token of [buyer.token, publisher.token, admin])
      expect((await install(slug, {}, token)).body).toMatchObject({ status: 404, code: "app_not_found" });
    expect(
      (await app.call("GET", "/api/marketplace/apps", { token: publisher.token })).body.data.map(
        (each: { slug: string }) => each.slug,
      ),
    ).toContain(slug);
    expect((await app.call("GET", "/api/marketplace/apps", { token: buyer.token })).body).toMatchObject({
      data: [],
      total: 0,
      limit: 50,
      offset: 0,
    });
  });

  it("a slug is never issued again", async () => {
    const { slug, appId } = await published();
    expect((await publish(draftOf(slug, webhook), buyer.token)).body).toMatchObject({
      status: 409,
      code: "slug_taken",
    });
    expect(
      (await app.call("POST", `/api/marketplace/apps/${appId}/archive`, { token: publisher.token })).body,
    ).toMatchObject({ status: "archived" });
    expect(
      (await app.call("POST", `/api/marketplace/apps/${appId}/archive`, { token: publisher.token })).body,
    ).toMatchObject({ status: 409, code: "invalid_transition" });
    expect((await publish(draftOf(slug, webhook))).body).toMatchObject({ status: 409, code: "slug_taken" });
    expect((await install(slug)).body).toMatchObject({ status: 404, code: "app_not_found" });
  });

  it.each(["a1b", "0-0", "x".repeat(63)])("takes the slug %s", async (slug) => {
    expect((await publish(draftOf(slug, webhook))).status).toBe(201);
  });

  it.each(["a", "ab", "-ab", "ab-", "a--b", "Abc", "a_b", "a b", "x".repeat(64), "apps", "installs", "admin", "ä-b"])(
    "refuses the slug %s",
    async (slug) => {
      expect((await publish(draftOf(slug, webhook))).body).toMatchObject({
        status: 400,
        code: "validation_error",
        errors: [{ field: "slug" }],
      });
    },
  );
});

describe("approval", () => {
  it("only a platform admin approves an app, and only once", async () => {
    const { body } = await publish(draftOf(slugOf(), webhook));
    for (const token of [publisher.token, buyer.token])
      expect((await approve(body.app_id as string, token)).body).toMatchObject({ status: 403, code: "forbidden" });
    expect((await approve(body.app_id as string)).body).toMatchObject({
      status: "published",
      published_at: expect.stringMatching(/Z$/u) as string,
    });
    expect((await approve(body.app_id as string)).body).toMatchObject({ status: 409, code: "invalid_transition" });
    expect((await approve(randomUUID())).body).toMatchObject({ status: 404, code: "app_not_found" });
    expect((await approve("x")).body).toMatchObject({ status: 400, code: "invalid_uuid" });
  });
});

describe("browsing", () => {
  it("browsing finds published apps by words, in pages of twenty, without what only owners see", async () => {
    const word = `w${randomUUID().slice(0, 8)}`;
    const { slug, appId } = await published({ description: `A ${word} for orbits` });
    const { body } = await app.call("GET", `/api/marketplace?q=${word.toUpperCase()}`, { token: buyer.token });
    expect(body).toMatchObject({
      total: 1,
      page: 1,
      apps: [
        {
          app_id: appId,
          slug,
          name: "Orbit",
          pricing_model: "seat",
          base_price_cents: 1900,
          deployment_modes: ["multi_tenant"],
        },
      ],
    });
    const detail = await app.call("GET", `/api/marketplace/${slug}`, { token: buyer.token });
    expect(detail.status).toBe(200);
    expect(detail.text).not.toContain(webhook);
    expect((await app.call("GET", `/api/marketplace?q=${word}&page=2`, { token: buyer.token })).body).toMatchObject({
      total: 1,
      page: 2,
      apps: [],
    });
    expect((await app.call("GET", "/api/marketplace?q=!!!", { token: buyer.token })).body).toMatchObject({ total: 0 });
  });
});

describe("installing", () => {
  it("installing returns 202 with the documented members and the defaults", async () => {
    const { slug, appId } = await published({
      plans: [
        { plan_id: "solo", name: "Solo", price_cents: 0, interval: "month" },
        { plan_id: "team", name: "Team", price_cents: 900, interval: "year" },
      ],
    });
    const { status, body } = await install(slug);
    expect(status).toBe(202);
    expect(body).toEqual({
      install_id: body.install_id,
      app: { app_id: appId, name: "Orbit", slug },
      org_uuid: buyer.orgUuid,
      status: "provisioning",
      deployment_mode: "multi_tenant",
      endpoint_url: null,
      plan_id: "solo",
      quantity: 1,
      payment_source: "free",
      current_period_end: null,
      failure_reason: null,
      created_at: body.created_at,
      updated_at: body.updated_at,
    });
    expect((await app.call("GET", `/api/installs/${body.install_id}`, { token: buyer.token })).body).toMatchObject({
      install_id: body.install_id,
      timeline: [{ event: "requested" }],
    });
    expect(
      (await app.call("GET", "/api/installs?status=provisioning&limit=1", { token: buyer.token })).body,
    ).toMatchObject({ data: [{ install_id: body.install_id }], limit: 1, offset: 0 });
    expect((await install(slug)).body).toMatchObject({ status: 409, code: "already_installed" });
    expect((await install(slug, {}, publisher.token)).status).toBe(202);
    expect(
      (await app.call("GET", `/api/marketplace/apps/${appId}/installs`, { token: publisher.token })).body,
    ).toMatchObject({ total: 2 });
    for (const token of [publisher.token, admin])
      expect((await app.call("GET", `/api/installs/${body.install_id}`, { token })).body).toMatchObject({
        status: 404,
        code: "install_not_found",
      });
    expect(
      (await app.call("DELETE", `/api/installs/${body.install_id}`, { token: publisher.token })).body,
    ).toMatchObject({ status: 404, code: "install_not_found" });
  });

  it("installing refuses a plan or deployment mode that the app does not offer", async () => {
    const both = await published({ deployment_modes: ["multi_tenant", "single_tenant"] });
    const one = await published();
    const refused: [string, unknown, string][] = [
      [both.slug, {}, "invalid_deployment_mode"],
      [one.slug, { deployment_mode: "single_tenant" }, "invalid_deployment_mode"],
      [one.slug, { deployment_mode: "own" }, "validation_error"],
      [one.slug, { plan_id: "nope" }, "invalid_plan"],
      [one.slug, { quantity: 0 }, "validation_error"],
      [one.slug, { quantity: 1_000_001 }, "validation_error"],
      [one.slug, { quantity: "x" }, "validation_error"],
    ];
    for (const [slug, body, code] of refused)
      expect((await install(slug, body)).body, JSON.stringify(body)).toMatchObject({ status: 400, code });
    expect((await install(slugOf())).body).toMatchObject({ status: 404, code: "app_not_found" });
    expect((await install(both.slug, { deployment_mode: "single_tenant", quantity: 1_000_000 })).body).toMatchObject({
      deployment_mode: "single_tenant",
      quantity: 1_000_000,
    });
  });

  it.each(["Connect", "gRPC"])("installing returns the same over %s", async (protocol) => {
    const { slug } = await published();
    const transport =
      protocol === "gRPC"
        ? createGrpcTransport({ baseUrl: app.url })
        : createConnectTransport({ baseUrl: app.url, httpVersion: "1.1" });
    const client = createClient(BuyerService, transport);
    const headers = { authorization: `Bearer ${buyer.token}` };
    expect(await client.installApp({ slug, quantity: 2 }, { headers })).toMatchObject({
      status: "provisioning",
      quantity: 2,
      planId: "default",
    });
    const again = ConnectError.from(await client.installApp({ slug }, { headers }).catch((error: unknown) => error));
    expect([again.code, again.rawMessage]).toEqual([Code.AlreadyExists, expect.stringContaining("live install")]);
    expect((await client.browseApps({ q: slug }, { headers })).apps).toMatchObject([{ slug }]);
  });
});

describe("where sign-up is closed", () => {
  it("only a platform admin makes organizations; the signed-in cannot either without that power", async () => {
    const closed = await startApp({
      databaseUrl: app.databaseUrl,
      clock: app.clock,
      env: { SERVICE_OPEN_SIGNUP: "0" },
    });
    try {
      const body = {
        name: `Closed ${randomUUID()}`,
        email: `${randomUUID()}@people.test`,
        password: "correct horse battery",
        first_name: "Ada",
      };
      expect((await closed.call("POST", "/api/organizations", { body })).status).toBe(403);
      expect(await closed.call("POST", "/api/organizations", { body, token: await closed.login() })).toMatchObject({
        status: 201,
        body: { name: body.name },
      });
    } finally {
      await closed.close();
    }
  });
});

describe("the log of the main job", () => {
  it("publication, approval and install are in the complete log of their organization", async () => {
    const { appId } = await published();
    await app.login();
    const list = (query: string): Promise<Answer> => app.call("GET", `/api/auth/events${query}`, { token: admin });
    const now = app.clock.now();
    const day = (offset: number): string => new Date(now + offset * 86_400_000).toISOString().slice(0, 10);
    expect((await list(`?from=${day(0)}&to=${day(1)}&type=login.password&outcome=success`)).body.total).toBeGreaterThan(
      0,
    );
    expect((await list(`?from=${day(1)}`)).body).toMatchObject({ total: 0, data: [] });
    expect((await list(`?from=${day(1)}&to=${day(0)}`)).body).toMatchObject({
      status: 400,
      code: "invalid_date_range",
    });
    expect((await list("?type=app.published")).body).toMatchObject({ status: 400, code: "invalid_type" });
    expect((await list("?outcome=maybe")).body).toMatchObject({ status: 400 });
    const times = ((await list("?limit=500")).body.data as { created_at: string }[]).map(({ created_at: at }) => at);
    expect(times).toEqual([...times].sort().reverse());
    const wide = await app.call(
      "GET",
      `/api/organizations/${publisher.orgUuid}/audit-events?type=app.published&limit=500`,
      { token: publisher.token },
    );
    if (wide.status !== 501)
      expect((wide.body.data as { resource_id: string }[]).map(({ resource_id: id }) => id)).toContain(appId);
  });
});
