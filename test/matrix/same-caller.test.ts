import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { watchDeadlocks } from "../support/deadlocks.ts";
import { LOCK_WAITS } from "../support/holding.ts";
import { pausingLink } from "../support/pausing-link.ts";
import type { PausingLink } from "../support/pausing-link.ts";
import { elevated, founder, member } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { commonOf, ends, writes } from "./same-caller.ts";
import type { Request } from "./same-caller.ts";

/** Less than the service waits for the statements that are held back. */
const PATIENCE_MS = 500;

// Most writes lock what they change, and their caller before COMMIT. Writes that end credentials lock the caller
// first: two of one caller that reach the same row in these two orders deadlock.
const { log, deadlocks } = watchDeadlocks();
let database: TestDatabase;
let link: PausingLink;
let app: TestApp;
let watch: pg.Client;
beforeAll(async () => {
  database = await testDatabase();
  link = await pausingLink(database.url);
  const started = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" }, databaseUrl: link.url, log });
  app = { ...started, databaseUrl: database.url };
  watch = new pg.Client(database.url);
  await watch.connect();
});
afterAll(async () => {
  await app.close();
  await watch.end();
  await link.close();
  await database.close();
});

async function adminOf(owner: Somebody): Promise<Somebody> {
  const person = await member(app, owner, 1);
  return { ...person, token: await elevated(app, person.token) };
}

/** Resolves when a transaction waits for a lock, or a response is there. */
async function blockedOr(response: Promise<Answer>): Promise<void> {
  let isOver = false;
  void response.finally(() => (isOver = true));
  for (const until = Date.now() + PATIENCE_MS; !isOver && Date.now() < until; ) {
    if ((await watch.query(LOCK_WAITS)).rows.length > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

it.each(Object.keys(ends))("every write of a caller and their request to %s have one order of locks", async (what) => {
  const faults: string[] = [];
  const actor = await adminOf(await founder(app));
  const send = ([method, path, body]: Request): Promise<Answer> => app.call(method, path, { token: actor.token, body });
  const [end, reaching] = ends[what] as (typeof ends)[string];
  for (const [name, write] of Object.entries(writes).filter(([other]) => reaching.test(other))) {
    const on = commonOf(app, actor);
    const [first, second] = [await write(on), await end(on)];

    // It has locked all but its caller by then.
    const { paused, resume } = link.pauseBefore("judge_session(");
    const written = send(first);
    const isPaused = await Promise.race([paused.then(() => true), written.then(() => false)]);
    if (!isPaused) resume();
    const ended = send(second);
    await blockedOr(ended);
    resume();
    const statuses = (await Promise.all([written, ended])).map(({ status }) => status);
    if (statuses.some((status) => status >= 500)) faults.push(`${name} answered ${statuses.join(" and ")}`);
    if (deadlocks.length > 0) faults.push(`${name} deadlocked: ${(deadlocks as string[]).splice(0).join("\n")}`);
  }
  expect(faults).toEqual([]);
});
