import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

const repository = new URL("../..", import.meta.url).pathname;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "atrium-run-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs these test files as the suite runs its own: with a database server that the run starts and stops. */
async function run(files: Record<string, string>): Promise<{ status: unknown; lines: string[] }> {
  const setup = `import { startPostgres } from "${repository}test/support/postgres.ts";
    export default async () => { const server = await startPostgres(); return () => server.stop(); };`;
  const config = `import { ClosingLine } from "${repository}test/support/closing-line.ts";
    export default { root: "${folder}", test: { globals: true, include: ["*.test.ts"], globalSetup: ["setup.ts"],
      pool: "forks", retry: 1, reporters: ["default", new ClosingLine()] } };`;
  for (const [name, text] of Object.entries({ ...files, "setup.ts": setup, "vitest.config.ts": config }))
    await writeFile(join(folder, name), text);
  const { TEST_DATABASE_URL: _given, ...env } = process.env;
  return new Promise((resolve) => {
    execFile(
      "vitest",
      ["run", "--config", join(folder, "vitest.config.ts")],
      { cwd: repository, env },
      (error, stdout) => {
        resolve({ status: error === null ? 0 : error.code, lines: stdout.trimEnd().split("\n") });
      },
    );
  });
}

test("a run ends with one plain line of counts and with the matching exit status", async () => {
  const good = 'test("is well", () => undefined); test.skip("is left out", () => undefined);';
  const passed = await run({ "a.test.ts": good });
  expect([passed.status, passed.lines.at(-1)]).toEqual([0, "1 passed, 0 failed, 1 skipped"]);
  const failed = await run({
    "b.test.ts":
      'test("fails", () => { throw new Error("no"); });' +
      'describe("a hook", () => {' +
      '  beforeAll(() => { throw new Error("no"); }); test("never runs", () => undefined); });',
    "c.test.ts": 'throw new Error("is no test file");',
  });
  expect([failed.status, failed.lines.at(-1)]).toEqual([1, "1 passed, 3 failed, 2 skipped"]);
});

test("a test that passes when it is repeated is named as a flake", async () => {
  const flaky = 'let n = 0; describe("now", () => { test("and then", () => { expect(++n).toBe(2); }); });';
  const { lines } = await run({ "d.test.ts": flaky });
  expect(lines.at(-2)).toBe("flake: d.test.ts > now > and then");
});
