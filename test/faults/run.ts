import { parseArgs } from "node:util";
import { play } from "./play.ts";

const HELP = `Kills the service and Temporal and stops PostgreSQL while installs and events are acknowledged, then looks whether
all of it came to its right end: each install in one final state, each event delivered at least once under one id.

Usage: npm run faults -- [--installs N] [--events N] [--load S] [--seconds S]

  --installs N   installs                               (default 2000)
  --events N     test events, beside those of installs  (default 20000)
  --load S       seconds the load lasts at least        (default 150)
  --seconds S    patience once the load is over         (default 240)
  --help         this text
`;

const { values } = parseArgs({
  options: { installs: { type: "string", default: "2000" }, events: { type: "string", default: "20000" }, load: { type: "string", default: "150" }, seconds: { type: "string", default: "240" }, help: { type: "boolean", default: false } },
});

/** The whole run ends here, whatever hangs. */
const LIMIT_MS = 600_000;

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1));

if (values.help) {
  process.stdout.write(HELP);
} else {
  const limit = setTimeout(() => {
    process.stderr.write("Ten minutes are over.\n");
    process.exit(1);
  }, LIMIT_MS);
  const installs = Number(values.installs);
  const played = await play({
    installs, events: Number(values.events), buyers: Math.max(5, Math.ceil(installs / 50)), lanes: 48, spreadMs: Number(values.load) * 1000,
    postgresAwayMs: 10_000, temporalAwayMs: 5_000, pauseMs: 10_000, limitMs: 330_000, patienceMs: Number(values.seconds) * 1000, say: (line) => process.stdout.write(`${line}\n`),
  });
  clearTimeout(limit);
  const { states, events, delivered, repeated, trouble, wrong, left } = played;
  process.stdout.write(`installs: ${played.installs} ${JSON.stringify(states)}
events: ${events}, delivered ${delivered}, brought again ${repeated}
clients met: ${trouble.unavailable} answers of 503 (${trouble.withoutRetryAfter} without Retry-After), ${trouble.lost} lost connections, ${trouble.faults.length} other faults, longest answer ${trouble.longestMs} ms
ready after the database was back: at most ${played.readyMs} ms
${wrong.length === 0 && left === "" ? "Nothing lost, nothing doubled." : [...wrong, ...trouble.faults.slice(0, 5), left].join("\n")}
`);
  process.exitCode = wrong.length === 0 && left === "" && trouble.faults.length === 0 ? 0 : 1;
}
