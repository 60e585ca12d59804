/** `npm run bench`: see `--help`. */
import { mkdirSync, writeFileSync } from "node:fs";
import { machine } from "./machine.ts";
import { help, readOptions } from "./options.ts";
import { measureRow } from "./measurement.ts";
import type { Outcome } from "./measurement.ts";
import { canPin } from "./processes.ts";
import { rows } from "./rows/index.ts";
import { createEnvironment } from "./environment.ts";
import { STOP_SIGNALS } from "../../src/platform/stop-signals.ts";
import { table } from "./table.ts";

const results = new URL("results/", import.meta.url);

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  const names = rows.map((row) => row.name);
  if (options.help) return console.log(help(names));
  const unknown = options.rows?.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new Error(`there is no row ${unknown}; there are: ${names.join(", ")}`);
  const { groups } = options;
  const empty = groups.find((group) => !names.some((name) => name.startsWith(`${group}-`)));
  if (empty !== undefined) throw new Error(`no row has a name that begins with ${empty}-`);
  const chosen = rows.filter(
    ({ name }) =>
      (options.rows === undefined && groups.length === 0) ||
      options.rows?.includes(name) === true ||
      groups.some((group) => name.startsWith(`${group}-`)),
  );
  const log = (line: string): void => console.log(line);
  const facts = machine();
  const pinning = canPin ? "" : "; processes are NOT pinned to cores, so ratios are approximate";
  log(`${facts.cpu}, ${facts.cores} cores, Node ${facts.node}${pinning}`);

  const environment = await createEnvironment({ tools: options.tools, log });
  const outcomes: Outcome[] = [];
  const failures: string[] = [];
  try {
    for (const row of chosen) {
      log(`${row.title} [${row.name}]`);
      try {
        outcomes.push(await measureRow(row, environment, { ...options, log }));
      } catch (cause) {
        failures.push(`${row.name}: ${cause instanceof Error ? cause.message : String(cause)}`);
        log(`  ${failures.at(-1)}`);
      } finally {
        await environment.endRow(row.name);
      }
    }
  } finally {
    await environment.stop();
  }
  mkdirSync(results, { recursive: true });
  const report = { at: new Date().toISOString(), machine: facts, options, outcomes, failures };
  writeFileSync(new URL("latest.json", results), `${JSON.stringify(report, null, 2)}\n`);
  log(`\n${table(outcomes)}`);
  const idle = outcomes.filter((outcome) => outcome.unsaturated).map((outcome) => outcome.name);
  if (idle.length > 0)
    log(
      `\nServers were not busy all the time in ${idle.join(", ")}: other programs use this machine, or the load ` +
        'generator or the database was the limit. "per CPU s" divides the work by the CPU time that a server used.',
    );
  for (const failure of failures) log(`not measured: ${failure.split("\n", 1)[0] ?? ""}`);
  const short = outcomes.filter((outcome) => !outcome.ok).map((outcome) => outcome.name);
  if (short.length > 0) log(`short of their targets: ${short.join(", ")}`);
  if (failures.length > 0) process.exitCode = 1;
}

// A signal also stops what was started.
for (const signal of STOP_SIGNALS) process.once(signal, () => process.exit(1));
try {
  await main();
} catch (cause) {
  console.error(cause instanceof Error ? cause.message : cause);
  process.exitCode = 1;
}
