import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { errorCodes } from "../../gen/error-codes.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";

const GUIDES = [
  "quick-start",
  "calling",
  "verify-tokens",
  "stay-signed-in",
  "step-up",
  "receive-webhooks",
  "events",
  "publish-an-app",
  "mtls-workload",
  "sso",
  "scim",
];

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

describe("/openapi.json", () => {
  it("is gen/openapi.json, and a client that has it gets 304", async () => {
    const { status, headers, text } = await app.call("GET", "/openapi.json");
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("application/json");
    expect(text).toBe(readFileSync(new URL("../../gen/openapi.json", import.meta.url), "utf8"));
    const etag = headers.get("etag") ?? "";
    const again = await app.call("GET", "/openapi.json", { headers: { "if-none-match": etag } });
    expect([again.status, again.text]).toEqual([304, ""]);
  });

  it("names the path of the public URL as its server", async () => {
    const prefixed = await startApp({ env: { SERVICE_BASE_URL: "https://id.example.com/atrium" } });
    try {
      const { body } = await prefixed.call("GET", "/openapi.json");
      expect(body.servers).toEqual([{ url: "/atrium" }]);
      expect(Object.keys(body.paths as object)).toContain("/api/auth/me");
    } finally {
      await prefixed.close();
    }
  });
});

describe("the documents", () => {
  it.each(["/docs", "/docs/errors", ...[...GUIDES, "verify-audit"].map((name) => `/docs/guides/${name}`)])(
    "%s is a page without script whose links lead to pages",
    async (path) => {
      const { status, headers, text } = await app.call("GET", path);
      expect(status).toBe(200);
      expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src 'self'; /u);
      expect(text).not.toMatch(/<script| style=| on\w+=/u);
      const targets = [...text.matchAll(/href="([^"#]+)/gu)].map(([, to = ""]) => new URL(to, `${app.url}${path}`));
      const own = [...new Set(targets.filter(({ origin }) => origin === app.url).map(({ pathname }) => pathname))];
      const answers = await Promise.all(own.map(async (to) => [to, (await app.call("GET", to)).status] as const));
      expect(answers.filter(([, found]) => found !== 200)).toEqual([]);
    },
  );

  it("every code has a page, under its name and under the type of its errors", async () => {
    for (const code of errorCodes) {
      const { status, text } = await app.call("GET", `/docs/errors/${code}`);
      expect([code, status]).toEqual([code, 200]);
      expect(text).toContain(`urn:atrium:error:${code}`);
    }
    expect((await app.call("GET", "/docs/errors/urn:atrium:error:step_up_required")).status).toBe(200);
  });

  it.each(["/docs/", "/docs/nothing", "/docs/errors/nothing", "/docs/guides/__proto__", "/docs/guides/..%2f"])(
    "%s is an unknown route",
    async (path) => {
      expect((await app.call("GET", path)).body.code).toBe("not_found");
    },
  );
});

it("an error links to the page of its code, relative to the request", async () => {
  for (const path of ["/api/auth/me", "/api/auth/me?x=/a/b", "/nowhere", "/a//b/"]) {
    const { headers, body } = await app.call("GET", path);
    const [, target = ""] = /^<([^>]+)>; rel="help"$/u.exec(headers.get("link") ?? "") ?? [];
    expect(new URL(target, `${app.url}/prefix${path}`).pathname).toBe(`/prefix/docs/errors/${body.code as string}`);
    expect((await app.call("GET", new URL(target, `${app.url}${path}`).pathname)).status).toBe(200);
  }
});
