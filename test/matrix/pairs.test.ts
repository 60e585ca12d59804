import { randomInt, randomUUID } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import { startPaymentServer } from "../../src/app/dev/payments/server.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createLog } from "../../src/platform/log.ts";
import { MASTER_KEY, startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { violatedInvariants } from "../support/invariants.ts";
import { runSql } from "../support/postgres.ts";
import { randomOf } from "../support/random-of.ts";
import type { Random } from "../support/random-of.ts";
import { openStage } from "./late-writes-stage.ts";
import type { Stage, Write } from "./late-writes-stage.ts";
import { pairedRequests, sendTo } from "./paired-requests.ts";
import type { PairedRequest } from "./paired-requests.ts";

/** How often each request of a pair is sent. */
const TIMES = 2;
/** When `npm run faults -- --only pairs` starts no further pair. */
const LIMIT_MS = 1_500_000;
/** Deadlocks are found after this, milliseconds; PostgreSQL's own second would hide those that end by themselves. */
const DEADLOCK_MS = 60;

type Pair = readonly [PairedRequest, PairedRequest];

/** Requests after which the writer may have lost a token, the organization, or what other requests need. */
const ends = new RegExp(
  [
    "^DELETE /api/organizations/\\{org_uuid\\}$",
    "^DELETE /api/v1/me/mfa",
    "^PATCH /api/organizations",
    "logout|revoke-all|session-inventory$|profile/password|reset|writer|owner",
  ].join("|"),
  "u",
);
const seals = /vault\/(un)?seal/u;

/** Two instances of one database, and what their log says of deadlocks and unexpected errors. */
async function startInstances(): Promise<{ apps: readonly [TestApp, TestApp]; logged: string[] }> {
  const logged: string[] = [];
  const write = (line: string): void => {
    if (line.includes("40P01") || /"level":"(error|fatal)"/u.test(line)) logged.push(line.slice(0, 2_000));
  };
  const log = createLog({ level: "debug", destination: { write } });
  const webhookSecret = "whsec_test_secret";
  const provider = await startPaymentServer({ webhookSecret });
  onTestFinished(() => provider.close());
  const env = {
    SERVICE_OPEN_SIGNUP: "1",
    SERVICE_STRIPE_SECRET_KEY: "sk_test_key",
    SERVICE_STRIPE_WEBHOOK_SECRET: webhookSecret,
    SERVICE_STRIPE_API_BASE: provider.url,
  };
  const options = { env, log, clock: systemClock };
  const first = await startApp(options);
  onTestFinished(() => first.close());
  const { databaseUrl } = first;
  await runSql(
    databaseUrl,
    `do $$ begin
       execute format('alter database %I set deadlock_timeout = ''${DEADLOCK_MS}ms''', current_database());
     end $$`,
  );
  const second = await startApp({ ...options, databaseUrl });
  onTestFinished(() => second.close());
  return { apps: [first, second], logged };
}

/** The stage as the second request of a pair sees it: the ids of the first one's objects stand for its own. */
const withIds = (stage: Stage, { ids = {} }: Write): Stage => ({
  ...stage,
  side: { ...stage.side, ids: { ...stage.side.ids, ...ids } },
});

/** Sends both requests of a pair at once, {@link TIMES} each, on the same objects. */
async function sendPair([one, other]: Pair, stage: Stage, urls: readonly string[], random: Random): Promise<Answer[]> {
  await one.prepare?.(stage);
  await other.prepare?.(stage);
  const first = await one.make(stage, random);
  const shared = withIds(stage, first);
  const second = one === other ? first : await other.make(shared, random);
  const ids = { ...second.ids, ...first.ids };
  const shots: [PairedRequest, Write][] = Array.from({ length: TIMES }, () => [
    [one, { ...first, ids }] as [PairedRequest, Write],
    [other, { ...second, ids }] as [PairedRequest, Write],
  ]).flat();
  return Promise.all(
    shots.map(([request, write], at) => {
      const isKeyed = request.method === "POST" && request.token === undefined && random.chance(0.5);
      const headers = isKeyed ? { "idempotency-key": randomUUID() } : {};
      // The first request of each round goes to either instance, and the second one to the other.
      const url = urls[(at + Math.floor(at / 2)) % urls.length] ?? "";
      return sendTo(url, request, shared, write, headers);
    }),
  );
}

/** All pairs, also of each request with itself, in an order that the seed repeats. */
function pairsOf(random: Random): Pair[] {
  const requests = pairedRequests();
  return requests
    .flatMap((one, at) => requests.slice(at).map((other): Pair => (random.chance(0.5) ? [one, other] : [other, one])))
    .map((pair) => ({ pair, place: random.next() }))
    .sort((a, b) => a.place - b.place)
    .map(({ pair }) => pair);
}

/** Sends the first `count` pairs of a seed; resolves to what went wrong. */
async function runPairs(seed: number, count: number): Promise<string[]> {
  const random = randomOf(seed);
  const { apps, logged } = await startInstances();
  const [app] = apps;
  const pairs = pairsOf(random).slice(0, count);
  const wrong: string[] = [];
  const until = Date.now() + LIMIT_MS;
  let stage: Stage | undefined = undefined;
  let sent = 0;
  for (const pair of pairs) {
    if (Date.now() > until) break;
    const name = pair.map((request) => request.name).join("  with  ");
    logged.length = 0;
    try {
      stage ??= await openStage(app);
      const urls = apps.map(({ url }) => url);
      const answers: Answer[] = await sendPair(pair, stage, urls, random);
      for (const { status, text } of answers) if (status >= 500) wrong.push(`${name}: ${status} ${text}`);
      const isRefused = answers.some(({ status, body }) => status === 401 || body?.code === "step_up_required");
      if (isRefused || pair.some((request) => ends.test(request.name))) stage = undefined;
    } catch (error) {
      // A pair on a stage that an earlier pair has changed: the next one has a new stage.
      progress(`could not be prepared: ${name}: ${String(error).slice(0, 300)}`);
      stage = undefined;
    }
    if (seals.test(name)) {
      const body = { key: MASTER_KEY.toString("base64") };
      await app.call("POST", "/api/operator/vault/unseal", { token: await app.login(), body });
    }
    wrong.push(...logged.map((line) => `${name}: ${line}`));
    if (++sent % 100 === 0) progress(`${sent} of ${pairs.length} pairs, ${wrong.length} findings`);
  }
  progress(`${sent} of ${pairs.length} pairs sent, ${wrong.length} findings`);
  return [...wrong, ...(await violatedInvariants(app.databaseUrl))];
}

/** A line for {@link runPairs}'s caller: `npm run faults` prints these as they come. */
function progress(line: string): void {
  if (process.env["ATRIUM_PAIRS"] !== undefined) process.stdout.write(`pairs: ${line}\n`);
}

it("every writing route has a request that can be paired with others", () => {
  const names = pairedRequests().map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});

// `npm run faults -- --only pairs` runs this one; it takes too long for `npm test`.
it.runIf(process.env["ATRIUM_PAIRS"] !== undefined)(
  "pairs of writes on the same objects end without a fault, a deadlock or a wrong row",
  async () => {
    const seed = Number(process.env["ATRIUM_PAIRS_SEED"] ?? randomInt(2 ** 32));
    progress(`seed ${seed}`);
    expect(await runPairs(seed, Number(process.env["ATRIUM_PAIRS"]))).toEqual([]);
  },
  1_800_000,
);
