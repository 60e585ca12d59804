import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { freePort } from "../support/postgres.ts";
import { runProgram, testFolder } from "../support/program.ts";

const folder = testFolder();
let home: TestDatabase;
beforeAll(async () => {
  home = await testDatabase();
});
afterAll(async () => {
  await home.close();
  folder.remove();
});

/** Starts with a working migration URL and this variant of it as `DATABASE_URL`; resolves when the program ends. */
async function startWith(change: (url: URL) => void): Promise<{ code: number; output: string }> {
  const url = new URL(home.url);
  change(url);
  const run = runProgram("src/main.ts", [], {
    SERVICE_DATA_DIR: folder.path,
    PORT: "0",
    SERVICE_CONSOLE: "off",
    DATABASE_URL: url.href,
    DATABASE_MIGRATION_URL: home.url,
    TEMPORAL_ADDRESS: "127.0.0.1:1",
  });
  return { code: await run.exit, output: run.output() };
}

test.each([["rewrap"], ["reset-password", "owner@acme.test"]])(
  "%s without a usable database ends with one line that names it and the reason",
  async (...args) => {
    const key = (fill: number): string => Buffer.alloc(32, fill).toString("base64");
    const run = (url: string) =>
      runProgram("src/main.ts", args, {
        SERVICE_DATA_DIR: folder.path,
        DATABASE_URL: url,
        SERVICE_INSTANCE_KEY: key(1),
        SERVICE_INSTANCE_KEY_PREVIOUS: key(2),
      });
    const wrong = Object.assign(new URL(home.url), { password: "geheim" }).href;
    const [away, refused] = [run("postgres://x:geheim@127.0.0.1:9/z"), run(wrong)];
    expect([await away.exit, await refused.exit]).toEqual([1, 1]);
    expect(away.output()).toMatch(/^atrium: The database z at 127\.0\.0\.1:9 cannot be reached .*ECONNREFUSED/mu);
    expect(refused.output()).toMatch(/^atrium: The database \w+ at \S+ refuses the connection: password auth/mu);
    for (const { output } of [away, refused]) {
      expect(output()).not.toMatch(/^ {4}at /mu);
      expect(output()).not.toContain("geheim");
    }
  },
);

test("migrate that a signal interrupts says so and does not exit 0", async () => {
  const empty = await testDatabase({ empty: true });
  const other = new pg.Client({ connectionString: empty.url });
  try {
    await other.connect();
    await other.query("select pg_advisory_lock(7203918451)");
    const run = runProgram("src/main.ts", ["migrate"], { SERVICE_PROFILE: "production", DATABASE_URL: empty.url });
    await run.until(/Another instance is migrating the database/u);
    process.kill(run.pid, "SIGTERM");
    expect(await run.exit).toBe(143);
    expect(run.output()).toMatch(/^atrium: Interrupted before the migrations had finished; run it again\.$/mu);
  } finally {
    await other.end();
    await empty.close();
  }
});

test("a DATABASE_URL that cannot be used beside a working migration URL ends the start with one line", async () => {
  const port = String(await freePort());
  const [refused, away] = await Promise.all([
    startWith((url) => void (url.password = "geheim")),
    startWith((url) => void (url.port = port)),
  ]);
  expect(refused.output.trimEnd().split("\n").at(-1)).toMatch(
    /^atrium: The database atrium_test_\w+ at 127\.0\.0\.1:\d+ refuses the connection: password authentication failed/u,
  );
  expect(away.output.trimEnd().split("\n").at(-1)).toMatch(
    new RegExp(
      `^atrium: The database \\w+ at 127\\.0\\.0\\.1:${port} cannot be reached \\(waited 30 s\\): .*ECONNREFUSED`,
    ),
  );
  for (const { code, output } of [refused, away]) {
    expect(code).toBe(1);
    expect(output).not.toMatch(/^ {4}at /mu);
    expect(output).not.toContain("geheim");
  }
});
