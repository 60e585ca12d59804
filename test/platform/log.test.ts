import { expect, test } from "vitest";
import { createLog } from "../../src/platform/log.ts";

test("secrets are not written, errors keep their code and cause", () => {
  const lines: string[] = [];
  const log = createLog({ level: "info", destination: { write: (line) => lines.push(line) } });
  log.debug("not asked for");
  log.info({
    password: "geheim", headers: { authorization: "Bearer geheim", "set-cookie": "geheim" },
    body: { login: { refresh_token: "geheim", email: "ann@acme.test" } }, code: "geheim",
  }, "signed in");
  log.error({ err: Object.assign(new Error("outer", { cause: new Error("inner") }), { code: "ECONNREFUSED" }) }, "failed");
  expect(lines.join("")).not.toContain("geheim");
  const [first, second] = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(first).toMatchObject({ level: "info", msg: "signed in", password: "[redacted]", body: { login: { email: "ann@acme.test" } } });
  expect(second).toMatchObject({ level: "error", err: { code: "ECONNREFUSED" } });
  expect(JSON.stringify(second)).toContain("inner");
});
