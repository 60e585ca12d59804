import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

it("GET / in development is a page with the first login, the mailbox and working links", async () => {
  const { status, headers, text } = await app.call("GET", "/", { headers: { accept: BROWSER } });
  expect(status).toBe(200);
  expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(text).toContain("owner@acme.test");
  expect(text).toContain("secrets/bootstrap-password");
  const links = [...text.matchAll(/href="([^"]+)"/g)].map(([, link]) => link);
  expect(links).toContain("dev/mailbox");
  for (const link of links) expect((await app.call("GET", `/${link}`)).status, link).toBe(200);
});

it("the welcome page runs nothing but its own script and style", async () => {
  const { headers, text } = await app.call("GET", "/", { headers: { accept: BROWSER } });
  const policy = headers.get("content-security-policy") ?? "";
  expect(policy).toMatch(/^default-src 'none'; /);
  for (const tag of ["script", "style"]) {
    const [, content = ""] = new RegExp(`<${tag}>([^]*)</${tag}>`).exec(text) ?? [];
    expect(policy).toContain(`${tag}-src 'sha256-${createHash("sha256").update(content).digest("base64")}'`);
  }
  expect(text).not.toMatch(/ (?:on\w+|style)=/);
});

it("GET / returns JSON to a program", async () => {
  for (const accept of [undefined, "*/*", "application/json", "text/html;q=0.5, application/json"]) {
    const { status, body } = await app.call("GET", "/", accept === undefined ? {} : { headers: { accept } });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      name: "atrium",
      profile: "development",
      first_login: { email: "owner@acme.test" },
      links: { mailbox: "/dev/mailbox" },
    });
  }
});

it("other methods than GET on / return 404", async () => {
  expect((await app.call("POST", "/", { body: {} })).status).toBe(404);
});

it("GET / in production is an unknown route", async () => {
  const env = {
    SERVICE_PROFILE: "production",
    DATABASE_URL: app.databaseUrl,
    TEMPORAL_ADDRESS: "127.0.0.1:1",
    SERVICE_MAIL: "off",
    SERVICE_INSTANCE_KEY: Buffer.alloc(32, 7).toString("base64"),
  };
  const other = await startApp({ databaseUrl: app.databaseUrl, env });
  try {
    expect(await other.call("GET", "/", { headers: { accept: BROWSER } })).toMatchObject({
      status: 404,
      body: { code: "not_found" },
    });
  } finally {
    await other.close();
  }
});
