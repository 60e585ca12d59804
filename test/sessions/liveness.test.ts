import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { copyRows } from "../support/copies.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { signIn } from "./support.ts";
import type { Held } from "./support.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
});
afterAll(() => app.close());

/** Somebody with a session whose state the instance has read and keeps. */
async function kept(): Promise<{ who: Somebody; session: Held }> {
  const who = await founder(app);
  const session = await signIn(app, who);
  for (let time = 0; time < 3; time++)
    expect(await me(session)).toMatchObject({ email: who.email, org_name: who.orgName });
  return { who, session };
}

/** What `/api/auth/me` says, or its status. */
async function me({ token }: Held): Promise<unknown> {
  const { status, body } = await app.call("GET", "/api/auth/me", { token });
  return status === 200 ? body : status;
}

/** Runs `work` with connections in one transaction each. */
async function transactions(count: number, work: (clients: pg.Client[]) => Promise<void>): Promise<void> {
  const clients = Array.from({ length: count }, () => new pg.Client({ connectionString: app.databaseUrl }));
  try {
    for (const client of clients) {
      await client.connect();
      await client.query("begin");
    }
    await work(clients);
  } finally {
    for (const client of clients) await client.end();
  }
}

const changes: [name: string, sql: string, subject: (who: Somebody, session: Held) => string, then: unknown][] = [
  ["a revoked session", "update sessions set revoked_at = now() where uuid = $1", (_, { sid }) => sid, 401],
  ["a session cut short", "update sessions set expires_at = created_at where uuid = $1", (_, { sid }) => sid, 401],
  [
    "another role",
    "update memberships set version = version + 1 where user_uuid = $1",
    ({ userUuid }) => userUuid,
    401,
  ],
  [
    "a suspended membership",
    "update memberships set status = 'inactive' where user_uuid = $1",
    ({ userUuid }) => userUuid,
    401,
  ],
  ["a membership that is gone", "delete from memberships where user_uuid = $1", ({ userUuid }) => userUuid, 401],
  ["a deleted organization", "update organizations set deleted_at = now() where uuid = $1", ({ org }) => org, 401],
  ["a deleted signing key", "delete from signing_keys where org_uuid = $1", ({ org }) => org, 401],
  [
    "a signing key that is over",
    "update signing_keys set active = false, valid_until = created_at where org_uuid = $1",
    ({ org }) => org,
    401,
  ],
  [
    "another name of the organization",
    "update organizations set name = 'Renamed ' || uuid where uuid = $1",
    ({ org }) => org,
    { org_name: expect.stringMatching(/^Renamed/) },
  ],
  [
    "another address",
    "update people set email = 'new-' || email, email_key = 'new-' || email_key where uuid = $1",
    ({ userUuid }) => userUuid,
    { email: expect.stringMatching(/^new-/) },
  ],
];

describe("the liveness cache of an instance", () => {
  it.each(changes)(
    "%s counts from its commit on, and not before or after a rollback",
    async (_name, sql, subject, then) => {
      const { who, session } = await kept();
      const before = await me(session);
      await transactions(2, async ([first, second]) => {
        await first?.query(sql, [subject(who, session)]);
        expect(await me(session)).toEqual(before);
        await first?.query("rollback");
        expect(await me(session)).toEqual(before);
        await second?.query(sql, [subject(who, session)]);
        expect(await me(session)).toEqual(before);
        await second?.query("commit");
        const after = await me(session);
        if (typeof then === "number") expect(after).toBe(then);
        else expect(after).toMatchObject(then as object);
      });
    },
  );

  it("the cache sees changes that are committed in another order than they were made", async () => {
    const held = await Promise.all(Array.from({ length: 4 }, kept));
    await transactions(held.length, async (clients) => {
      for (const [at, client] of clients.entries())
        await client.query("update sessions set revoked_at = now() where uuid = $1", [held[at]?.session.sid]);
      for (const at of [2, 0, 3, 1]) {
        await clients[at]?.query("commit");
        expect(await me(held[at]?.session as Held)).toBe(401);
      }
    });
  });

  it("the cache ends an entry by the clock with its session", async () => {
    const { session } = await kept();
    const [row] = await runSql<{ ms: string }>(
      app.databaseUrl,
      "select (extract(epoch from expires_at) * 1000)::bigint as ms from sessions where uuid = $1",
      [session.sid],
    );
    await runSql(app.databaseUrl, "update sessions set expires_at = $2 where uuid = $1", [
      session.sid,
      new Date(app.clock.now() + 60_000),
    ]);
    expect(await me(session)).toMatchObject({});
    app.clock.advance(59_999);
    expect(await me(session)).not.toBe(401);
    app.clock.advance(1);
    expect(await me(session)).toBe(401);
    await runSql(app.databaseUrl, "update sessions set expires_at = $2 where uuid = $1", [
      session.sid,
      new Date(Number(row?.ms)),
    ]);
    expect(await me(session)).not.toBe(401);
  });

  it("the cache is emptied when more has changed than is listed one by one", async () => {
    const { session } = await kept();
    await runSql(
      app.databaseUrl,
      "insert into liveness_changes (subject) select gen_random_uuid() from generate_series(1, 6000)",
    );
    await runSql(app.databaseUrl, "update sessions set revoked_at = now() where uuid = $1", [session.sid]);
    expect(await me(session)).toBe(401);
  });

  it("a transaction that ends many sessions writes as many changes as are listed one by one, and one", async () => {
    const { session } = await kept();
    await copyRows(
      app.databaseUrl,
      "sessions",
      { where: "source.uuid = $1", values: { uuid: "gen_random_uuid()" }, count: 6000 },
      [session.sid],
    );
    const ofPerson = "user_uuid = (select user_uuid from sessions where uuid = $1)";
    const end = `update sessions set revoked_at = now() where ${ofPerson}`;
    const written = "select count(*)::int as n from liveness_changes where xid = pg_current_xact_id()";
    await transactions(1, async ([client]) => {
      await client?.query("savepoint ends");
      await client?.query(`${end} and uuid <> $1`, [session.sid]);
      expect((await client?.query(written))?.rows).toEqual([{ n: 5001 }]);
      await client?.query("rollback to savepoint ends");
      await client?.query("update sessions set revoked_at = now() where uuid = $1", [session.sid]);
      expect((await client?.query(written))?.rows).toEqual([{ n: 1 }]);
      await client?.query("rollback");
    });
    expect(await me(session)).toMatchObject({});
    await transactions(1, async ([client]) => {
      await client?.query(`${end} and uuid <> $1`, [session.sid]);
      await client?.query(end, [session.sid]);
      expect((await client?.query(written))?.rows).toEqual([{ n: 5001 }]);
      expect(await me(session)).toMatchObject({});
      await client?.query("commit");
      expect(await me(session)).toBe(401);
    });
  });

  it("the cache is correct under many concurrent changes and rollbacks", async () => {
    const held = await Promise.all(Array.from({ length: 16 }, kept));
    let wrong = 0;
    await Promise.all(
      held.map(async ({ who, session }, at) => {
        for (let round = 1; round <= 6; round++) {
          const name = `Storm ${at} ${round}`;
          await transactions(1, async ([client]) => {
            await client?.query("update organizations set name = $2 where uuid = $1", [who.org, `${name} undone`]);
            await me(session);
            await client?.query("rollback; begin");
            await client?.query("update organizations set name = $2 where uuid = $1", [who.org, name]);
            await me(session);
            await client?.query("commit");
            if (((await me(session)) as { org_name: string }).org_name !== name) wrong++;
          });
        }
      }),
    );
    expect(wrong).toBe(0);
  });
});
