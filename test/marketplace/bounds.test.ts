import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listenToStatements } from "../lists/statements.ts";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { holding } from "../support/holding.ts";
import { draftOf } from "../support/market.ts";
import { founder, outcome } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { appPath, must, publish } from "./stage.ts";

const statements = listenToStatements();
let app: TestApp;
let admin: string;
let seller: string;
beforeAll(async () => {
  app = await startApp();
  admin = await app.login();
  seller = (await founder(app)).token;
});
afterAll(() => app.close());

describe("drafts", () => {
  const publishing = (token: string): Promise<Answer> =>
    app.call("POST", "/api/marketplace/apps", {
      token,
      body: draftOf(`draft-${randomUUID()}`, "http://127.0.0.1:9/x"),
    });
  /** Drafts of an organization, made without a request each. */
  const fill = (org: string, appId: string, count: number): Promise<unknown> =>
    runSql(
      app.databaseUrl,
      `
    with slugs as (insert into app_slugs (slug) select 'filled-' || gen_random_uuid() from generate_series(1, ${count}) returning slug)
    insert into apps (app_id, org_uuid, slug, name, description, deployment_modes, pricing_model, base_price_cents, currency, plans,
      provision_webhook, webhook_secret, status, created_by, key_id, created_at, updated_at)
    select gen_random_uuid(), $1, s.slug, name, description, deployment_modes, pricing_model, base_price_cents, currency, plans,
      provision_webhook, webhook_secret, 'draft', created_by, key_id, created_at, updated_at
    from apps, slugs s where app_id = $2`,
      [org, appId],
    );
  const drafts = async (token: string): Promise<number> =>
    must(await app.call("GET", "/api/marketplace/apps?status=draft&limit=1", { token })).total;

  it("an organization has at most 200 drafts under parallel requests, and the slug of a refused one remains free", async () => {
    const owner = await founder(app);
    const { appId } = await publish(app, owner.token);
    await fill(owner.org, appId, 195);
    const answers = await Promise.all(Array.from({ length: 12 }, () => publishing(owner.token)));
    expect(answers.map(outcome).sort()).toEqual([
      ...Array<string>(4).fill("201"),
      ...Array<string>(8).fill("409 conflict"),
    ]);
    expect(await drafts(owner.token)).toBe(200);
    const slug = `once-${randomUUID()}`;
    const body = draftOf(slug, "http://127.0.0.1:9/x");
    expect(outcome(await app.call("POST", "/api/marketplace/apps", { token: owner.token, body }))).toBe("409 conflict");
    expect(outcome(await app.call("POST", "/api/marketplace/apps", { token: (await founder(app)).token, body }))).toBe(
      "201",
    );
    must(await app.call("POST", appPath(appId, "/archive"), { token: owner.token, body: {} }));
    expect(outcome(await publishing(owner.token))).toBe("201");
  });

  it("a rejected app that becomes a draft again counts as a draft", async () => {
    const owner = await founder(app);
    const { appId } = await publish(app, owner.token);
    must(await app.call("POST", `/api/admin/marketplace/apps/${appId}/reject`, { token: admin, body: {} }));
    await fill(owner.org, appId, 200);
    const edit = (): Promise<Answer> =>
      app.call("PATCH", appPath(appId), { token: owner.token, body: { description: "Better" } });
    expect(outcome(await edit())).toBe("409 conflict");
    await runSql(
      app.databaseUrl,
      "update apps set status = 'archived' where app_id = (select app_id from apps where org_uuid = $1 and status = 'draft' limit 1)",
      [owner.org],
    );
    expect((await edit()).body).toMatchObject({ status: "draft", description: "Better" });
  });

  it("listing 200 apps takes a few statements, not one for each app", async () => {
    const owner = await founder(app);
    await fill(owner.org, (await publish(app, owner.token)).appId, 150);
    for (const [path, token] of [
      ["/api/marketplace/apps?limit=200", owner.token],
      [`/api/admin/marketplace/apps?limit=200&org_uuid=${owner.org}`, admin],
    ] as const) {
      statements.take();
      const { data } = must(await app.call("GET", path, { token })) as { data: { publisher: { name: string } }[] };
      expect(data).toHaveLength(151);
      expect(new Set(data.map(({ publisher }) => publisher.name))).toEqual(new Set([owner.orgName]));
      expect(statements.take().length).toBeLessThan(10);
    }
  });
});

it("an install whose app is archived meanwhile is refused", async () => {
  const { appId, slug } = await publish(app, seller, {}, admin);
  const buyer = await founder(app);
  const held = await holding(app.databaseUrl);
  await held.run("update apps set status = 'archived' where app_id = $1", [appId]);
  const installing = app.call("POST", `/api/marketplace/${slug}/install`, { token: buyer.token, body: {} });
  await held.waitedFor(1);
  await held.commit();
  expect(outcome(await installing)).toBe("404 app_not_found");
  expect(must(await app.call("GET", "/api/installs", { token: buyer.token })).total).toBe(0);
});

it("a timeline keeps its newest 200 entries and those that statistics count", async () => {
  const { appId, slug } = await publish(app, seller, {}, admin);
  const buyer = await founder(app);
  const { install_id: installId } = must(
    await app.call("POST", `/api/marketplace/${slug}/install`, { token: buyer.token, body: {} }),
  );
  await runSql(
    app.databaseUrl,
    "insert into install_timeline (install_id, at, event, detail) select $1, now(), 'attempt_failed', n::text from generate_series(1, 300) n",
    [installId],
  );
  await runSql(app.databaseUrl, "update installs set status = 'active', step = null where install_id = $1", [
    installId,
  ]);
  must(await app.call("POST", appPath(appId, `/installs/${installId}/suspend`), { token: seller, body: {} }));
  const { timeline } = must(await app.call("GET", `/api/installs/${installId}`, { token: buyer.token })) as {
    timeline: { event: string; detail: string }[];
  };
  expect([timeline.length, timeline[1]?.detail, timeline.at(-1)?.event]).toEqual([201, "102", "suspended"]);
  app.clock.advance(1_000);
  const { data } = must(await app.call("GET", appPath(appId, "/stats"), { token: seller }));
  expect(data.at(-1)).toMatchObject({ requested: 1 });
});
