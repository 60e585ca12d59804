import { expect, it } from "vitest";
import { services } from "../../gen/services.ts";
import { errorCodes } from "../../gen/error-codes.ts";
import { ERROR_CODES, errorCode } from "../../src/platform/error-codes/index.ts";
import { compilePolicies } from "../../src/server/policy.ts";
import { errorCodesOf } from "../../src/server/rpc-errors.ts";
import { startApp } from "../support/app.ts";
import { undeclaredErrors } from "../support/declared-errors.ts";

const policies = [...compilePolicies(services).values()];

it("the union that clients compile against has the codes of the catalogue", () => {
  expect([...errorCodes]).toEqual(Object.keys(ERROR_CODES).sort());
});

it("an option that names a code outside the catalogue stops the start", () => {
  expect(() => errorCode("no_such_code")).toThrow(/no_such_code/u);
});

it("every entry of the catalogue says in sentences what is the case, why, and what to do", () => {
  const entries = Object.entries(ERROR_CODES);
  const incomplete = entries.filter(
    ([, { meaning, why, remedy }]) => ![meaning, why, remedy].every((text) => /^[A-Za-z].{10,}\.$/u.test(text)),
  );
  expect(incomplete.map(([code]) => code)).toEqual([]);
});

it("an rpc names no code that its other options imply", () => {
  const twice = policies.flatMap((policy) => {
    const implied = new Set(errorCodesOf({ ...policy, errors: [] }));
    return policy.errors.filter((code) => implied.has(code)).map((code) => `${policy.rpc}: ${code}`);
  });
  expect(twice).toEqual([]);
});

it("the metrics of a service show an rpc that refused with a code which it does not name", async () => {
  const app = await startApp();
  const refused = await app.call("POST", "/api/auth/login", {
    body: { email: "nobody@acme.test", password: "wrong", org_name: "Acme" },
  });
  expect(refused.body.code).toBe("unauthorized");
  const { text } = await app.call("GET", "/metrics");
  expect(undeclaredErrors(text)).toEqual([]);
  expect(undeclaredErrors(text.replaceAll('code="unauthorized"', 'code="quote_expired"'))).toEqual([
    "atrium.login.v1.LoginService/Login refused with quote_expired",
  ]);
  await app.close();
});
