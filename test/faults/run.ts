import { parseArgs } from "node:util";
import { STOP_SIGNALS } from "../../src/platform/stop-signals.ts";
import { connections } from "./connections.ts";
import { deadEndpoints } from "./dead-endpoints.ts";
import { killedInbox } from "./killed-inbox.ts";
import { killedKeys } from "./killed-keys.ts";
import { fullOutbox } from "./full-outbox.ts";
import { oversize } from "./oversize.ts";
import { pairsOfWrites } from "./pairs.ts";
import { plansOfLists } from "./plans.ts";
import { runFaults } from "./fault-run.ts";
import { postgresAway } from "./postgres-away.ts";
import type { Scenario } from "./scenario.ts";
import { slowTenant } from "./slow-tenant.ts";
import { fullBacklog, temporalAway } from "./temporal-away.ts";
import { manyWatchers } from "./many-watchers.ts";

const HELP = `Provokes faults and checks that the service survives them. Exits 1 when a target is missed, else 0. Takes
half an hour at most.

Usage: npm run faults -- [--only NAME[,NAME…]] [--installs N] [--events N] [--load S] [--seconds S] [--kills N]
                     [--pairs N] [--seed N]

  postgres-away    PostgreSQL is stopped, then frozen, for 10 s each: every request returns 503 with Retry-After within
                   10 s, and the same process is ready within 5 s of its return
  dead-endpoints   50 endpoints beside a good one respond, then hang or break connections: compares p50 and p99 from
                   commit to delivery of the good one's events; the dead ones may add 750 ms
  slow-tenant      1,000 endpoints of one organization that respond after 14 s, beside a good one of another: they may
                   add 500 ms to the p99 from commit to delivery of the good one's events
  full-outbox      1,000,000 due messages of one topic: p90 of GET /api/auth/me at most 1.5 times as long
  temporal-away    Temporal is killed: installs return 202, first attempts continue, /readyz stays 200 and reports it.
                   10,000 deliveries whose first attempt failed wait for the retry workflows of 50 endpoints, and 200
                   installs for theirs; all are done within 60 s of its return
  workload         two instances and two workers on one database are killed in turn with Temporal, and PostgreSQL is
                   stopped for 10 s; publishers and receivers fail, hang, reset and send garbage, while installs and
                   events are acknowledged: each install reaches its one correct state, each event is delivered at
                   least once under one id
  killed-keys      three instances are killed in turn, two at a time, under writes with Idempotency-Keys that are sent
                   again at once: none is lost, doubled or refused
  killed-inbox     an instance is killed between the receipt of each event of a payment provider and its effect: after
                   the restart each one is applied, and what is sent again counts once
  many-watchers    4,000 streams watch one install that changes: the p99 of another client's requests is under 100 ms
  connections      1,100 connections and 100 MiB of unread responses from one address: all requests of another address
                   succeed
  oversize         10,000 gRPC messages over the limit on one connection, by @grpc/grpc-js and by Python's grpcio where
                   it is installed: each is refused, and the same connection then carries 100 streams;
                   runs only when named
  plans            1,000,000 rows of every table that a list reads: no list, with any filter, reads or sorts a whole
                   table, by a plan for its values and by a generic plan; runs only when named
  pairs            every two writing requests at once on the same objects over two instances: no fault, no deadlock, no
                   row that must not exist; ends after 25 minutes with what it has sent; runs only when named

  --only NAMES     only these                         (default: all but oversize, plans and pairs, in this order)
  --installs N     installs of the workload                          (default 2000)
  --events N       its test events, besides the events of installs   (default 20000)
  --load S         minimum duration of its load, seconds             (default 120)
  --seconds S      time limit after the load, seconds                (default 200)
  --kills N        kills of killed-keys                              (default 200)
  --pairs N        pairs of writes                                   (default all)
  --seed N         order of the pairs, as an earlier run printed it  (default random)
  --help           this text
`;

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    installs: { type: "string", default: "2000" },
    events: { type: "string", default: "20000" },
    load: { type: "string", default: "120" },
    kills: { type: "string", default: "200" },
    seconds: { type: "string", default: "200" },
    pairs: { type: "string" },
    seed: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

const numberOf = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text));

/** Time limit of the whole run. */
const LIMIT_MS = 1_800_000;

const workload: Scenario = async (log) => {
  const installs = Number(values.installs);
  const result = await runFaults({
    roles: ["serve", "serve", "worker", "worker"],
    installs,
    events: Number(values.events),
    buyers: Math.max(5, Math.ceil(installs / 50)),
    lanes: 48,
    spreadMs: Number(values.load) * 1000,
    postgresAwayMs: 10_000,
    temporalAwayMs: 5_000,
    pauseMs: 8_000,
    limitMs: 300_000,
    settleTimeoutMs: Number(values.seconds) * 1000,
    log,
  });
  const { states, events, delivered, repeated, trouble, wrong, left } = result;
  log(`installs: ${result.installs} ${JSON.stringify(states)}`);
  log(`events: ${events}, delivered ${delivered}, brought again ${repeated}`);
  log(
    `clients got ${trouble.unavailable} responses of 503 (${trouble.withoutRetryAfter} without Retry-After), ` +
      `${trouble.lost} lost connections, ${trouble.faults.length} other faults, ` +
      `longest response ${trouble.longestMs} ms`,
  );
  log(`ready after the database was back: at most ${result.readyMs} ms`);
  if (result.readyMs > 5_000) wrong.push(`ready ${result.readyMs} ms after the database was back`);
  if (trouble.withoutRetryAfter > 0) wrong.push(`${trouble.withoutRetryAfter} answers of 503 had no Retry-After`);
  return [...wrong, ...trouble.faults.slice(0, 5), ...(left === "" ? [] : [`still under way: ${left}`])];
};

const scenarios: Readonly<Record<string, Scenario>> = {
  "postgres-away": postgresAway,
  "dead-endpoints": deadEndpoints,
  "slow-tenant": slowTenant,
  "full-outbox": fullOutbox,
  "temporal-away": temporalAway(fullBacklog),
  workload,
  "killed-keys": killedKeys(Number(values.kills)),
  "killed-inbox": killedInbox,
  "many-watchers": manyWatchers(4_000),
  connections,
  oversize: oversize(10_000),
  plans: plansOfLists(1_000_000),
  pairs: pairsOfWrites(numberOf(values.pairs), numberOf(values.seed)),
};

/** Scenarios that run only when they are named. */
const LONG = new Set(["oversize", "plans", "pairs"]);

for (const signal of STOP_SIGNALS) process.once(signal, () => process.exit(1));

async function run(names: readonly string[]): Promise<void> {
  const since = Date.now();
  const log = (line: string): void =>
    void process.stdout.write(`${((Date.now() - since) / 1_000).toFixed(1).padStart(6)} s  ${line}\n`);
  const limit = setTimeout(() => {
    process.stderr.write("Half an hour is over.\n");
    process.exit(1);
  }, LIMIT_MS);
  const missed: string[] = [];
  for (const name of names) {
    log(`== ${name}`);
    const wrong =
      (await scenarios[name]?.(log).catch((error: unknown) => [
        error instanceof Error ? (error.stack ?? error.message) : String(error),
      ])) ?? [];
    log(wrong.length === 0 ? `${name}: as it has to be` : `${name}: WRONG\n${wrong.join("\n")}`);
    if (wrong.length > 0) missed.push(name);
  }
  clearTimeout(limit);
  log(missed.length === 0 ? "Nothing lost, nothing doubled, no figure missed." : `Missed: ${missed.join(", ")}`);
  process.exit(missed.length === 0 ? 0 : 1);
}

const names = values.only?.split(",") ?? Object.keys(scenarios).filter((name) => !LONG.has(name));
const unknown = names.filter((name) => !(name in scenarios));
if (values.help) process.stdout.write(HELP);
else if (unknown.length > 0) {
  process.stderr.write(`Unknown: ${unknown.join(", ")}\n${HELP}`);
  // The embedded database's package would make it 0 at an end that comes by itself.
  process.exit(2);
} else await run(names);
