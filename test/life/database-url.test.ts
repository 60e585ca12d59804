import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { freePort } from "../support/postgres.ts";
import { runProgram, testFolder } from "../support/program.ts";

vi.setConfig({ testTimeout: 300_000 });

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
