import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { draftOf, openMarket, signUp } from "../support/market.ts";
import type { Market } from "../support/market.ts";
import { runSql } from "../support/postgres.ts";
import { temporalServer } from "../support/temporal.ts";

let one: TestApp;
let two: TestApp;
let market: Market;
beforeAll(async () => {
  const shared = {
    role: "all",
    temporal: await temporalServer(),
    clock: systemClock,
    env: { SERVICE_WEBHOOK_SCHEDULE: "0s,100ms", SERVICE_MAGIC_LINK_DEV_ECHO: "1" },
  } as const;
  one = await startApp(shared);
  two = await startApp({ ...shared, databaseUrl: one.databaseUrl });
  market = await openMarket(one);
});
afterAll(async () => {
  await market.close();
  await two.close();
  await one.close();
});

/** Every other call goes to the other instance. */
const either = (at: number): TestApp => (at % 2 === 0 ? one : two);
const parallel = (times: number, call: (at: number) => Promise<Answer>): Promise<Answer[]> =>
  Promise.all(Array.from({ length: times }, (_, at) => call(at)));
const statuses = (answers: readonly Answer[]): Record<number, number> =>
  answers.reduce<Record<number, number>>((seen, { status }) => ({ ...seen, [status]: (seen[status] ?? 0) + 1 }), {});

describe("Revocation", () => {
  it("a token revoked at one instance is refused at the other on the very next request", async () => {
    for (let round = 0; round < 10; round++) {
      const [here, there] = [either(round), either(round + 1)];
      const token = await here.login();
      expect((await there.call("GET", "/api/auth/me", { token })).status).toBe(200);
      expect((await here.call("POST", "/api/auth/logout", { token })).status).toBe(204);
      expect((await there.call("GET", "/api/auth/me", { token })).status).toBe(401);
    }
  });
});

describe("Races over both instances", () => {
  it("fifty uses of one magic link sign one person in", async () => {
    const { body: sent } = await one.call("POST", "/api/auth/magic-link/send", { body: { email: "race@people.test" } });
    const answers = await parallel(50, (at) =>
      either(at).call("POST", "/api/auth/magic-link/verify", { body: { token: sent.dev_token } }),
    );
    expect(statuses(answers)).toEqual({ 200: 1, 401: 49 });
  });

  it("thirty installs create one install", async () => {
    const offer = await market.offer(() => ({ status: 200 }));
    const answers = await parallel(30, (at) =>
      either(at).call("POST", `/api/marketplace/${offer.slug}/install`, { token: market.buyer, body: {} }),
    );
    expect(statuses(answers)).toEqual({ 202: 1, 409: 29 });
    for (const { status, body } of answers) if (status === 409) expect(body.code).toBe("already_installed");
    const installId = answers.find(({ status }) => status === 202)?.body.install_id as string;
    await market.until(installId, "active");
    expect(offer.server.calls.map(({ data }) => data.install_id)).toEqual([installId]);
  });

  it("thirty publications of one slug create one app", async () => {
    const slug = `race-${randomUUID().slice(0, 8)}`;
    const answers = await parallel(30, (at) =>
      either(at).call("POST", "/api/marketplace/apps", {
        token: market.publisher,
        body: draftOf(slug, "https://orbit.example/"),
      }),
    );
    expect(statuses(answers)).toEqual({ 201: 1, 409: 29 });
  });

  it("twenty sign-ups under one name create one organization", async () => {
    const name = `Race ${randomUUID()}`;
    const answers = await parallel(20, (at) =>
      either(at).call("POST", "/api/organizations", {
        token: market.publisher,
        body: { name: at % 3 === 0 ? name.toUpperCase() : name },
      }),
    );
    expect(statuses(answers)).toEqual({ 201: 1, 409: 19 });
  });
});

describe("Two workers", () => {
  it("two workers provision each of twenty installs once", async () => {
    const offer = await market.offer((_call, nth) => ({ status: nth % 5 === 0 ? 500 : 200 }));
    const buyers = await Promise.all(Array.from({ length: 20 }, (_, at) => signUp(either(at))));
    const installs = await Promise.all(
      buyers.map(
        async ({ token }, at) =>
          (await either(at).call("POST", `/api/marketplace/${offer.slug}/install`, { token, body: {} })).body
            .install_id as string,
      ),
    );
    const count = async (): Promise<number> =>
      Number(
        (
          await runSql<{ n: string }>(
            one.databaseUrl,
            "select count(*) as n from installs where app_id = $1 and status = 'active'",
            [offer.appId],
          )
        )[0]?.n,
      );
    await expect.poll(count).toBe(20);
    expect(new Set(offer.server.calls.map(({ data }) => data.install_id))).toEqual(new Set(installs));
    const lines = await runSql<{ n: string }>(
      one.databaseUrl,
      "select count(*) as n from install_timeline where event = 'active' group by install_id having count(*) > 1",
    );
    expect(lines).toEqual([]);
  });
});

describe("An Idempotency-Key", () => {
  const create = (app: TestApp, key: string, name: string): Promise<Answer> =>
    app.call("POST", "/api/organizations", {
      token: market.publisher,
      body: { name },
      headers: { "idempotency-key": key },
    });

  it("an Idempotency-Key returns the first response on either instance", async () => {
    const [key, name] = [randomUUID(), `Once ${randomUUID()}`];
    const first = await create(one, key, name);
    expect(first.status).toBe(201);
    expect(first.headers.get("idempotent-replayed")).toBeNull();
    for (const app of [two, one]) {
      const again = await create(app, key, name);
      expect(again).toMatchObject({ status: 201, body: first.body });
      expect(again.headers.get("idempotent-replayed")).toBe("true");
    }
    expect((await create(two, key, `${name} 2`)).body).toMatchObject({ status: 422, code: "idempotency_mismatch" });
  });

  it("an Idempotency-Key stores no refusal and belongs to its caller", async () => {
    const [key, name] = [randomUUID(), `Later ${randomUUID()}`];
    expect((await create(one, key, "Acme")).status).toBe(409);
    expect((await create(two, key, name)).status).toBe(201);
    const stranger = await signUp(two);
    const theirs = await one.call("POST", "/api/organizations", {
      token: stranger.token,
      body: { name: `${name} too` },
      headers: { "idempotency-key": key },
    });
    expect(theirs.status).toBe(201);
  });

  it.each(["", "a b", "x".repeat(256), "\u00fc"])("the Idempotency-Key %j returns 400", async (key) => {
    const { status } = await create(one, key, `Bad ${randomUUID()}`);
    expect(status).toBe(400);
  });

  it("fifty parallel calls with one Idempotency-Key have one effect and one response", async () => {
    const [key, name] = [randomUUID(), `Fifty ${randomUUID()}`];
    const answers = await parallel(50, (at) => create(either(at), key, name));
    const made = answers.filter(({ status }) => status === 201);
    expect(made.length).toBeGreaterThan(0);
    expect(new Set(made.map(({ body }) => body.org_uuid as string)).size).toBe(1);
    expect(made.filter(({ headers }) => headers.get("idempotent-replayed") === null)).toHaveLength(1);
    for (const { status, body } of answers)
      if (status !== 201) expect(body).toMatchObject({ status: 409, code: "conflict" });
    const rows = await runSql<{ n: string }>(
      one.databaseUrl,
      "select count(*) as n from organizations where name = $1",
      [name],
    );
    expect(rows[0]?.n).toBe("1");
  });

  it("an Idempotency-Key holds over all protocols", async () => {
    const [key, name] = [randomUUID(), `Both ${randomUUID()}`];
    const first = await create(one, key, name);
    const overConnect = await two.call("POST", "/atrium.users.v1.UsersService/CreateOrganization", {
      token: market.publisher,
      body: { name },
      headers: { "idempotency-key": key },
    });
    expect(overConnect).toMatchObject({ status: 200, body: { org_uuid: first.body.org_uuid } });
    expect(overConnect.headers.get("idempotent-replayed")).toBe("true");
  });
});
