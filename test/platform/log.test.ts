import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createLog } from "../../src/platform/log.ts";

function logged(fields: object): { err: Record<string, unknown>; token?: string } {
  const lines: string[] = [];
  createLog({ level: "info", destination: { write: (line) => void lines.push(line) } }).error(
    fields,
    "something happened",
  );
  return JSON.parse(lines.join("")) as { err: Record<string, unknown> };
}

test("the log contains no secrets, and errors with their code and cause", () => {
  const lines: string[] = [];
  const log = createLog({ level: "info", destination: { write: (line) => lines.push(line) } });
  log.debug("not asked for");
  log.info(
    {
      password: "geheim",
      headers: { authorization: "Bearer geheim", "set-cookie": "geheim" },
      body: { login: { refresh_token: "geheim", email: "ann@acme.test" } },
      code: "geheim",
    },
    "signed in",
  );
  log.error(
    { err: Object.assign(new Error("outer", { cause: new Error("inner") }), { code: "ECONNREFUSED" }) },
    "failed",
  );
  expect(lines.join("")).not.toContain("geheim");
  const [first, second] = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(first).toMatchObject({
    level: "info",
    msg: "signed in",
    password: "[redacted]",
    body: { login: { email: "ann@acme.test" } },
  });
  expect(second).toMatchObject({ level: "error", err: { code: "ECONNREFUSED" } });
  expect(JSON.stringify(second)).toContain("inner");
});

describe("Errors in the log", () => {
  test("an error is logged with its causes and plain members, without the objects a driver attaches", () => {
    const client = { secretKey: 4711, queue: [{ text: "select $1", values: ["hunter2"] }] };
    const cause = Object.assign(new TypeError("connection terminated"), { code: "57P01", severity: "FATAL", client });
    const { err } = logged({ err: new Error("the database is away", { cause }) });
    expect(err).toMatchObject({
      type: "Error",
      message: "the database is away",
      cause: { type: "TypeError", code: "57P01", severity: "FATAL" },
    });
    expect(JSON.stringify(err)).not.toMatch(/hunter2|4711/);
    expect(String(err["stack"])).toContain("log.test.ts");
  });

  test("an error of PostgreSQL is logged without the values of its row", () => {
    const detail = "Failing row contains (ann@acme.test, geheim).";
    const values = { code: "23502", table: "people", detail, where: "COPY geheim", internalQuery: "select 'geheim'" };
    const { err } = logged({ err: Object.assign(new Error("null value in column"), values) });
    expect(err).toMatchObject({ code: "23502", table: "people" });
    expect(JSON.stringify(err)).not.toContain("geheim");
  });

  test("an aggregate of errors and an endless chain of causes are logged", () => {
    const endless = new Error("round");
    endless.cause = endless;
    const { err } = logged({ err: new AggregateError([endless, "plain"], "all failed") });
    expect(err).toMatchObject({
      type: "AggregateError",
      errors: [{ message: "round", cause: { message: "round" } }, "plain"],
    });
  });

  test("members whose names suggest a secret are replaced", () => {
    expect(
      logged({ token: "t0ps3cret", err: Object.assign(new Error("no"), { password: "hunter2", code: "23505" }) }),
    ).toMatchObject({
      token: "[redacted]",
      err: { password: "[redacted]", code: "23505" },
    });
  });
});

/** Starts a process that logs to its standard output as the service does, runs `script` and exits with 3. */
function logging(script: string) {
  const before = `import { createLog } from "./src/platform/log.ts";
    process.stdout.on("error", () => undefined);
    const log = createLog({ level: "info" });
    const lines = (count) => { for (let n = 0; n < count; n++) log.info({ n, text: "x".repeat(1000) }); };`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", `${before}${script}; process.exit(3);`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  return { child, exit: once(child, "exit") };
}
const readLater = `await new Promise((resolve) => setTimeout(resolve, 300));`;

test("a process whose log nobody reads any more ends, whether the reader has stopped or is gone", async () => {
  const stopped = logging(`lines(1000); ${readLater} lines(5000)`);
  const gone = logging(`${readLater} lines(3); log.fatal("the end")`);
  gone.child.stdout.destroy();
  expect(await stopped.exit).toEqual([3, null]);
  expect(await gone.exit).toEqual([3, null]);
  stopped.child.stdout.destroy();
});

test("a slow reader gets every line of a log in its order, up to the last one before the exit", async () => {
  const { child, exit } = logging(`lines(300); ${readLater} lines(300)`);
  await sleep(300);
  const read = (await text(child.stdout)).trimEnd().split("\n");
  const numbers = read.map((line) => (JSON.parse(line) as { n: number }).n);
  expect(numbers).toEqual([...Array(300).keys(), ...Array(300).keys()]);
  expect(await exit).toEqual([3, null]);
});
