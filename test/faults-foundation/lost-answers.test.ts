import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { flakyLink } from "../support/flaky-link.ts";
import type { FlakyLink } from "../support/flaky-link.ts";
import { losingLink } from "../support/losing-link.ts";
import type { LosingLink } from "../support/losing-link.ts";
import { runSql } from "../support/postgres.ts";

let home: TestDatabase;
let silent: FlakyLink;
let link: LosingLink;
let app: TestApp;
let token: string;
beforeAll(async () => {
  home = await testDatabase();
  const url = new URL(home.url);
  silent = await flakyLink({ host: url.hostname, port: Number(url.port) });
  url.port = String(silent.port);
  link = await losingLink(url.href);
  app = await startApp({ databaseUrl: link.url });
  token = await app.login();
});
afterAll(async () => {
  await app.close();
  await link.close();
  await silent.close();
  await home.close();
});

/** A role made under a key. */
function roleUnder(key: string): () => Promise<Answer> {
  const body = { name: `role ${key}`, permissions: [] };
  return () => app.call("POST", "/api/v2/products/main/roles", { token, body, headers: { "idempotency-key": key } });
}

/** Sends again while the key is in use; the clock, and with it the lease of a claim, stands still. */
async function insist(send: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await send();
    if (answer.status !== 409) return answer;
    await sleep(20);
  }
}

it("a key whose claim took effect and lost its answer can be used again at once", async () => {
  const key = randomUUID();
  const send = roleUnder(key);
  const [first] = await Promise.all([send(), link.lose("idempotency-claim")]);
  expect([first.status, first.headers.get("retry-after")]).toEqual([503, "1"]);
  const second = await insist(send);
  expect([second.status, second.headers.get("idempotent-replayed")]).toEqual([200, null]);
  const { body } = await app.call("GET", "/api/roles", { token });
  expect((body.data as { name: string }[]).filter(({ name }) => name === `role ${key}`)).toHaveLength(1);
});

it("a write under a key returns 503 within 10 s when the database falls silent meanwhile", async () => {
  const other = new pg.Client(home.url);
  await other.connect();
  await other.query("begin; lock table roles in access exclusive mode");
  let ticks = 0;
  const answer = roleUnder(randomUUID())();
  const blocked = async (): Promise<number> =>
    (await runSql(home.url, "select 1 from pg_stat_activity where wait_event_type = 'Lock'")).length;
  await expect.poll(blocked).toBeGreaterThan(0);
  silent.deafen();
  // Time as this process lives it: one tick for a pause in which a busy machine lets it do nothing.
  const ticking = setInterval(() => ticks++, 100);
  const { status, headers } = await answer;
  clearInterval(ticking);
  await silent.restore();
  await other.end();
  expect([status, headers.get("retry-after")]).toEqual([503, "1"]);
  expect(ticks * 100).toBeLessThan(10_000);
});
