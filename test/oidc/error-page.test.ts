import { parse } from "parse5";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Answer } from "../support/app.ts";
import { begin, comeBack, granted, startRealm, subject } from "./support.ts";
import type { Realm } from "./support.ts";

const BROWSER = { accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };

let realm: Realm;
beforeAll(async () => {
  realm = await startRealm();
});
afterAll(() => realm.close());

/** A callback with a code that the provider refuses, with the secrets that its URL and cookie carried. */
async function refused(headers: Record<string, string>): Promise<{ answer: Answer; secrets: string[] }> {
  realm.provider.subject = subject("ann");
  const begun = await begin(realm);
  const query: Record<string, string> = { ...granted(realm, begun), code: 'in"jected<script>alert(1)</script>' };
  const answer = await comeBack(realm, begun.cookie, query, realm.connection, headers);
  return {
    answer,
    secrets: [query["code"] ?? "", query["state"] ?? "", begun.cookie.split("=")[1] ?? "", "127.0.0.1"],
  };
}

it("a browser gets the refusal of a callback as a page that says what to do and repeats nothing of the request", async () => {
  const { answer, secrets } = await refused(BROWSER);
  expect(answer.status).toBe(401);
  expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(answer.headers.get("vary")).toContain("Accept");
  expect(answer.headers.get("cache-control")).toBe("no-store");
  expect(answer.headers.get("referrer-policy")).toBe("no-referrer");
  expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  expect(answer.headers.get("content-security-policy")).toMatch(
    /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/u,
  );
  const problems: unknown[] = [];
  parse(answer.text, { onParseError: (problem) => problems.push(problem) });
  expect(problems).toEqual([]);
  for (const text of ["You are not signed in", "could not be verified", "start again", "token_exchange_failed"])
    expect(answer.text).toContain(text);
  expect(answer.text).toContain(answer.headers.get("x-request-id"));
  for (const secret of secrets) expect(answer.text).not.toContain(secret);
  expect(answer.text).not.toMatch(/<script|<img|<form|href=|src=/u);
});

it.each([undefined, "*/*", "application/json", "application/json, text/html", "text/html;q=0.5, application/json"])(
  "a client with Accept %s gets the refusal of a callback as JSON",
  async (accept) => {
    const { answer } = await refused(accept === undefined ? {} : { accept });
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(answer.body.code).toBe("token_exchange_failed");
  },
);

it("every refusal that a person can meet is a page: a foreign connection, an expired sign-in, a malformed address", async () => {
  const unknown = "0b1d2a3e-aaaa-4000-8000-00000000000f";
  for (const [path, code] of [
    [`/api/auth/oidc/${unknown}/authorize`, "invalid_connection"],
    [`/api/auth/oidc/${unknown}/callback`, "invalid_connection"],
    [`/api/auth/oidc/${realm.connection}/callback?state=x&code=y`, "invalid_state"],
    [`/api/auth/oidc/<b>x/callback`, "invalid_uuid"],
  ]) {
    const answer = await realm.app.call("GET", path ?? "", { headers: BROWSER });
    expect(answer.status).toBe(400);
    expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(answer.text).toContain(code);
    expect(answer.text).not.toContain("<b>x");
  }
});

it("the page of a sign-in with a wrong parameter names it", async () => {
  const path = `/api/auth/oidc/${realm.connection}/authorize?redirect_uri=https%3A%2F%2Fevil.test`;
  const { text } = await realm.app.call("GET", path, { headers: BROWSER });
  expect(text).toContain("redirect_uri must be one of the connection&#39;s redirect_uris.");
  expect(text).not.toContain("evil.test");
});

it("a route that people do not open answers a browser in JSON", async () => {
  const answer = await realm.app.call("GET", "/api/auth/me", { headers: BROWSER });
  expect(answer.headers.get("content-type")).toBe("application/json");
});
