import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { founder, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { appPath, must, publish } from "./stage.ts";

let app: TestApp;
let admin: string;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp();
  admin = await app.login();
  owner = await founder(app, "Orbit");
});
afterAll(() => app.close());

type Move = "approve" | "reject" | "archive" | "patch";
type Status = "draft" | "published" | "rejected" | "archived";

const move = (appId: string, name: Move): Promise<Answer> => {
  if (name === "patch")
    return app.call("PATCH", appPath(appId), { token: owner.token, body: { description: "Better" } });
  if (name === "archive") return app.call("POST", appPath(appId, "/archive"), { token: owner.token });
  return app.call("POST", `/api/admin/marketplace/apps/${appId}/${name}`, {
    token: admin,
    body: name === "reject" ? { reason: "No screenshots" } : {},
  });
};
const waysTo: Record<Status, Move[]> = {
  draft: [],
  published: ["approve"],
  rejected: ["reject"],
  archived: ["archive"],
};

/** Decisions 9.1. A state that is not named here is 409 `invalid_transition`. */
const moves: Record<Status, Partial<Record<Move, Status>>> = {
  draft: { approve: "published", reject: "rejected", archive: "archived", patch: "draft" },
  published: { archive: "archived", patch: "published" },
  rejected: { archive: "archived", patch: "draft" },
  archived: { patch: "archived" },
};
const cases = (Object.keys(moves) as Status[]).flatMap((from) =>
  (["approve", "reject", "archive", "patch"] as const).map((name) => ({ from, name, to: moves[from][name] })),
);

it.each(cases)("$name of a $from app: $to", async ({ from, name, to }) => {
  const { appId, slug } = await publish(app, owner.token);
  for (const way of waysTo[from]) must(await move(appId, way));
  const answer = await move(appId, name);
  if (to === undefined) expect(answer.body).toMatchObject({ status: 409, code: "invalid_transition" });
  else
    expect(answer).toMatchObject({
      status: 200,
      body: { app_id: appId, slug, status: to, provision_webhook: "http://127.0.0.1:9/provision" },
    });
  const now = await app.call("GET", `/api/marketplace/${slug}`, { token: owner.token });
  expect(now.body.status).toBe(to ?? from);
});

it("a rejection shows its reason to owners until an edit makes the app a draft again", async () => {
  const { appId, slug } = await publish(app, owner.token);
  expect((await move(appId, "reject")).body).toMatchObject({ status: "rejected", rejection_reason: "No screenshots" });
  expect((await app.call("GET", `/api/marketplace/${slug}`, { token: owner.token })).body).toMatchObject({
    status: "rejected",
    rejection_reason: "No screenshots",
  });
  must(await move(appId, "patch"));
  const { body } = await move(appId, "approve");
  expect(body).toMatchObject({ status: "published", description: "Better" });
  expect(body).not.toHaveProperty("rejection_reason");
});

describe("a PATCH", () => {
  it("a PATCH of the base price changes the default plan and no other", async () => {
    const { appId, slug } = await publish(app, owner.token, { base_price_cents: 1900 }, admin);
    const patch = async (body: unknown) =>
      must(await app.call("PATCH", appPath(appId), { token: owner.token, body })).plans;
    expect(await patch({ base_price_cents: 0 })).toEqual([
      { plan_id: "default", name: "Default", price_cents: 0, interval: "month" },
    ]);
    const buyer = await founder(app);
    expect(
      must(await app.call("POST", `/api/marketplace/${slug}/install`, { token: buyer.token })).payment_source,
    ).toBe("free");
    const solo = { plan_id: "solo", name: "Solo", price_cents: 100, interval: "month" };
    expect(await patch({ base_price_cents: 700, plans: [solo] })).toEqual([solo]);
    expect(await patch({ base_price_cents: 900 })).toEqual([solo]);
  });

  it("a PATCH changes only the members it has, ignores the slug, and returns the owner's view", async () => {
    const { appId, slug } = await publish(
      app,
      owner.token,
      { plans: [{ plan_id: "solo", name: "Solo", price_cents: 100, interval: "month" }] },
      admin,
    );
    const before = (await app.call("GET", `/api/marketplace/${slug}`, { token: owner.token })).body;
    app.clock.advance(1_000);
    const { status, body } = await app.call("PATCH", appPath(appId), {
      token: owner.token,
      body: { slug: "another-slug", name: "Orbit 2", base_price_cents: 0 },
    });
    expect(status).toBe(200);
    expect(body).toEqual({ ...before, name: "Orbit 2", base_price_cents: 0, updated_at: body.updated_at });
    expect(body.updated_at).not.toBe(before.updated_at);
    must(
      await app.call("PATCH", appPath(appId), {
        token: owner.token,
        body: {
          plans: [{ plan_id: "team", name: "Team", price_cents: 900, interval: "year" }],
          deployment_modes: ["single_tenant"],
          currency: "eur",
        },
      }),
    );
    expect((await app.call("GET", `/api/marketplace/${slug}`, { token: admin })).body).toMatchObject({
      plans: [{ plan_id: "team" }],
      deployment_modes: ["single_tenant"],
      currency: "eur",
      name: "Orbit 2",
    });
  });

  it.each([
    [{ name: "" }],
    [{ currency: "EUR" }],
    [{ currency: "zzz" }],
    [{ deployment_modes: ["cloud"] }],
    [{ base_price_cents: -1 }],
    [{ pricing_model: "Seat!" }],
    [{ plans: [{ plan_id: "" }] }],
    [{ provision_webhook: "ftp://orbit.example/" }],
    [{ provision_webhook: "http://10.0.0.1/" }],
    [{ provision_webhook: "http://user:pass@orbit.example/" }],
  ])("a PATCH of %j is refused and changes nothing", async (body) => {
    const { appId, slug } = await publish(app, owner.token);
    const before = (await app.call("GET", `/api/marketplace/${slug}`, { token: owner.token })).body;
    expect(outcome(await app.call("PATCH", appPath(appId), { token: owner.token, body }))).toBe("400 validation_error");
    expect((await app.call("GET", `/api/marketplace/${slug}`, { token: owner.token })).body).toEqual(before);
  });
});

it("platform admins list every app by status and publisher; an owner lists their own", async () => {
  const other = await founder(app);
  const [draft, public1] = [await publish(app, other.token), await publish(app, other.token, {}, admin)];
  const list = async (query: string): Promise<string[]> =>
    must(await app.call("GET", `/api/admin/marketplace/apps?org_uuid=${other.org}${query}`, { token: admin })).data.map(
      (one: { app_id: string }) => one.app_id,
    );
  expect((await list("")).sort()).toEqual([draft.appId, public1.appId].sort());
  expect(await list("&status=draft")).toEqual([draft.appId]);
  expect(await list("&status=published")).toEqual([public1.appId]);
  expect(await list("&limit=1&offset=2")).toEqual([]);
  expect(must(await app.call("GET", "/api/marketplace/apps?status=published", { token: other.token }))).toMatchObject({
    total: 1,
    data: [{ app_id: public1.appId, provision_webhook: "http://127.0.0.1:9/provision" }],
  });
});

it("thirty parallel approvals and rejections decide once", async () => {
  const { appId, slug } = await publish(app, owner.token);
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, nth) => move(appId, nth % 2 === 0 ? "approve" : "reject")),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]));
  expect((await app.call("GET", `/api/marketplace/${slug}`, { token: owner.token })).body.status).toBe(
    answers.find(({ status }) => status === 200)?.body.status,
  );
});
