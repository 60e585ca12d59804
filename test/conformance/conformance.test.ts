import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { conformanceContract } from "./contract.ts";
import { startHost } from "./host.ts";

/** The program `connectconformance` and the `proto` folder of its module; `.ci/run` sets them where there is Go. */
const program = process.env["CONNECT_CONFORMANCE"];
const protoFolder = process.env["CONNECT_CONFORMANCE_PROTO"];
const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** Runs the suite, or the cases of these names; resolves to the names of those that failed. */
async function run(command: readonly string[], names: readonly string[] = []) {
  const args = [
    ...["--mode", "server", "--conf", file("config.yaml"), "--known-failing", `@${file("known-failing.txt")}`],
    // Which of the two sides is the first to see the end of a deadline is a matter of chance.
    ...["--known-flaky", "Timeouts/**", ...names.flatMap((name) => ["--run", name])],
    ...["--max-servers", "2", "-p", "4", "--", ...command],
  ];
  const { failed, output } = await new Promise<{ failed: boolean; output: string }>((resolve) => {
    execFile(program ?? "", args, { maxBuffer: 1 << 28 }, (error, out, err) =>
      resolve({ failed: error !== null, output: `${out}${err}` }),
    );
  });
  return { failed, output, names: [...output.matchAll(/^FAILED: (.*):$/gmu)].map(([, name = ""]) => name) };
}

test.skipIf(program === undefined || protoFolder === undefined)(
  "the server suite of connectconformance passes, except for the cases that docs/conformance.md explains",
  { timeout: 1_800_000 },
  async () => {
    const host = await startHost(conformanceContract(protoFolder ?? ""));
    const first = await run(host.command);
    // Cases have deadlines that a busy machine misses: the few that fail are run once more.
    const again = first.failed && first.names.length < 20 ? await run(host.command, first.names) : first;
    await host.close();
    expect(first.output).toMatch(/Total cases: [1-9]\d{3}/u);
    expect(again.failed, again.output.slice(-20_000)).toBe(false);
  },
);
