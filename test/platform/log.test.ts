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
