import { parseArgs } from "node:util";

/** Options of the command line. */
export interface Options {
  rows: string[] | undefined;
  /** Beginnings of names, up to a hyphen: all rows that have them. */
  groups: string[];
  rounds: number;
  seconds: number;
  warmUp: number;
  tools: boolean;
  help: boolean;
}

/** Reads the command line. @throws Error with a sentence for a person. */
export function readOptions(args: string[]): Options {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      rows: { type: "string" },
      rounds: { type: "string", default: "5" },
      seconds: { type: "string", default: "2" },
      "warm-up": { type: "string", default: "5" },
      "no-tools": { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  return {
    rows: values.rows?.split(",").map((name) => name.trim()),
    groups: positionals,
    rounds: positive("rounds", values.rounds),
    seconds: positive("seconds", values.seconds),
    warmUp: positive("warm-up", values["warm-up"]),
    tools: !values["no-tools"],
    help: values.help,
  };
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`--${name} must be a number above 0`);
  return value;
}

/** The help text. */
export function help(names: readonly string[]): string {
  return `npm run bench -- [options] [group]

Measures the service against others in one run: both sides in turn, medians, a ratio.
Prints a table and writes test/bench/results/latest.json. Exits 1 when a row could not be measured, else 0: a row that
misses its target is marked as short in the table, and the last line names them all.

  --rows a,b      only these rows: ${names.join(", ")}
  --rounds N      rounds of each row (5)
  --seconds N     of each side in each round (2; at least 8 for logins-better-auth)
  --warm-up N     seconds of each side before the first round (5; at least 8 for logins-better-auth)
  --no-tools      our own load generator, even where wrk and h2load are installed
  --help          this text
  console         a group: all rows whose names begin with console-

BENCH_PROFILE=<folder> writes CPU profiles of the service there; BENCH_NODE_OPTIONS are flags for its Node.
BENCH_STATEMENTS=<folder> writes what the statements of each row cost the database there, as <row>.txt; not of a row
with a PostgreSQL of its own.
Needs two cores to tell servers (core 0) and load with the database (core 1) apart.
The rows audit-… write ten million events first, users-… and me-million a million people,
webhook… three million deliveries: minutes, and 20 GB in the
temporary folder until the end.`;
}
