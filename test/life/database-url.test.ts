import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
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

test("a DATABASE_URL without its password, or with TLS that the server lacks, is reported in one line", async () => {
  // Asks for a password by SCRAM: AuthenticationSASL, then AuthenticationSASLContinue.
  const messages = [message(10, "SCRAM-SHA-256\0\0"), message(11, "r=nonce,s=c2FsdA==,i=4096")];
  const asking = createServer((socket) => {
    const left = [...messages];
    socket.on("error", () => undefined).on("data", () => socket.write(left.shift() ?? ""));
  }).listen(0, "127.0.0.1");
  await once(asking, "listening");
  try {
    const migrate = async (url: string): Promise<{ code: number; output: string }> => {
      const run = runProgram("src/main.ts", ["migrate"], { SERVICE_PROFILE: "production", DATABASE_URL: url });
      return { code: await run.exit, output: run.output() };
    };
    const { port } = asking.address() as AddressInfo;
    const refused = (name: string, at: string, why: string) => ({
      code: 1,
      output: `atrium: The database ${name} at 127.0.0.1:${at} refuses the connection: ${why}\n`,
    });
    expect(await migrate(`postgres://app@127.0.0.1:${port}/atrium`)).toEqual(
      refused("atrium", String(port), "the server asks for a password, and the URL has none"),
    );
    const { port: own, pathname } = new URL(home.url);
    expect(await migrate(`${home.url}?sslmode=require`)).toEqual(
      refused(pathname.slice(1), own, "The server does not support SSL connections"),
    );
  } finally {
    asking.close();
  }
});

/** A message of PostgreSQL about authentication. */
function message(kind: number, text: string): Buffer {
  const head = Buffer.from("R\0\0\0\0\0\0\0\0", "latin1");
  head.writeInt32BE(8 + text.length, 1);
  head.writeInt32BE(kind, 5);
  return Buffer.concat([head, Buffer.from(text, "latin1")]);
}
