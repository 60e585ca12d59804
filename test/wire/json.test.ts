import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { draftOf } from "../support/market.ts";
import { runSql } from "../support/postgres.ts";

let app: TestApp;
let token: string;
beforeAll(async () => {
  app = await startApp();
  token = await app.login();
});
afterAll(() => app.close());

const rest = "/api/marketplace/apps";
const connect = "/atrium.marketplace.v1.PublisherService/PublishApp";
const whole = JSON.stringify(draftOf("wire-app", "https://orbit.example/"));
const nested = (levels: number): string =>
  `${whole.slice(0, -1)},"extra":${'{"a":'.repeat(levels - 1)}1${"}".repeat(levels - 1)}}`;
const withMember = (member: string): string => `${whole.slice(0, -1)},${member}}`;
const without = (name: string): string =>
  JSON.stringify(
    Object.fromEntries(Object.entries(JSON.parse(whole) as Record<string, unknown>).filter(([key]) => key !== name)),
  );
const changed = (member: string, value: string): string =>
  `{${member}:${value},${without(JSON.parse(member) as string).slice(1)}`;

/** Counts of everything that the requests could have changed. */
const state = () =>
  runSql(
    app.databaseUrl,
    `select (select count(*) from apps) apps, (select count(*) from organizations) organizations,
       (select count(*) from auth_events) events, (select count(*) from outbox) outbox,
       (select count(*) from people) people`,
  );

const cases: [what: string, body: string | Uint8Array, status: number, code: string, field?: string][] = [
  ["nothing", "", 400, "bad_request"],
  ["half a body", whole.slice(0, 40), 400, "bad_request"],
  ["two bodies", whole + whole, 400, "bad_request"],
  ["a comment", `${whole}// x`, 400, "bad_request"],
  ["a trailing comma", `${whole.slice(0, -1)},}`, 400, "bad_request"],
  ["single quotes", whole.replaceAll('"', "'"), 400, "bad_request"],
  ["bytes that are no UTF-8", Buffer.from(withMember('"x":"\u00ff"'), "latin1"), 400, "bad_request"],
  ["a member twice", withMember('"slug":"wire-app"'), 400, "bad_request"],
  ["a member nobody knows, twice", withMember('"x":1,"x":2'), 400, "bad_request"],
  ["a member in both spellings", withMember('"basePriceCents":1'), 400, "bad_request"],
  ["33 levels", nested(33), 400, "bad_request"],
  ["500,000 levels", "[".repeat(500_000), 400, "bad_request"],
  ["a NUL", changed('"name"', '"a\\u0000b"'), 400, "bad_request"],
  ["a NUL in a name", withMember('"a\\u0000":1'), 400, "bad_request"],
  ["a lone surrogate", changed('"name"', '"\\ud83e"'), 400, "bad_request"],
  ["an array", "[]", 400, "validation_error"],
  ["a string", '"x"', 400, "validation_error"],
  ["null", "null", 400, "validation_error"],
  ["a number for a text", changed('"name"', "7"), 400, "validation_error", "name"],
  ["a text for a list", changed('"deployment_modes"', '"multi_tenant"'), 400, "validation_error", "deployment_modes"],
  ["an object for a number", changed('"base_price_cents"', "{}"), 400, "validation_error", "base_price_cents"],
  ["a negative price", changed('"base_price_cents"', "-1"), 400, "validation_error", "base_price_cents"],
  ["a fraction of a cent", changed('"base_price_cents"', "1.5"), 400, "validation_error", "base_price_cents"],
  ["a price beyond 32 bits", changed('"base_price_cents"', "4294967296"), 400, "validation_error", "base_price_cents"],
  ["a price beyond every number", changed('"base_price_cents"', "1e400"), 400, "validation_error", "base_price_cents"],
  [
    "a price of 400 digits",
    changed('"base_price_cents"', `1${"0".repeat(400)}`),
    400,
    "validation_error",
    "base_price_cents",
  ],
  ["a number beyond every number for a text", changed('"name"', "-1e400"), 400, "validation_error", "name"],
  ["a price over the rule", changed('"base_price_cents"', "100000000"), 400, "validation_error", "base_price_cents"],
  ["a mode there is not", changed('"deployment_modes"', '["own"]'), 400, "validation_error", "deployment_modes[0]"],
  [
    "a mode twice",
    changed('"deployment_modes"', '["multi_tenant","multi_tenant"]'),
    400,
    "validation_error",
    "deployment_modes",
  ],
  ["no modes", changed('"deployment_modes"', "[]"), 400, "validation_error", "deployment_modes"],
  ["no name", without("name"), 400, "validation_error", "name"],
  ["an empty name", changed('"name"', '""'), 400, "validation_error", "name"],
  ["a null name", changed('"name"', "null"), 400, "validation_error", "name"],
  ["a name of 201 code points", changed('"name"', JSON.stringify("🦊".repeat(201))), 400, "validation_error", "name"],
  ["a slug with a space", changed('"slug"', '"a b c"'), 400, "validation_error", "slug"],
  ["a reserved slug", changed('"slug"', '"installs"'), 400, "validation_error", "slug"],
  [
    "a URL of another scheme",
    changed('"provision_webhook"', '"ftp://orbit.example/"'),
    400,
    "validation_error",
    "provision_webhook",
  ],
  [
    "a URL with credentials",
    changed('"provision_webhook"', '"https://a:b@orbit.example/"'),
    400,
    "validation_error",
    "provision_webhook",
  ],
  [
    "a private address",
    changed('"provision_webhook"', '"http://169.254.169.254/"'),
    400,
    "validation_error",
    "provision_webhook",
  ],
  ["more than 1 MiB", withMember(`"x":"${"x".repeat(1_100_000)}"`), 413, "payload_too_large"],
];

describe.each([
  ["REST", rest],
  ["Connect", connect],
])("Over %s", (protocol, path) => {
  it.each(cases)("a body of %s is refused and changes nothing", async (_what, body, status, code, field) => {
    const before = await state();
    const answer = await app.call("POST", path, { token, body });
    const reason =
      protocol === "REST"
        ? answer.body.code
        : (answer.body.details?.[0]?.debug?.reason as string | undefined)?.toLowerCase();
    expect([answer.status, reason], answer.text.slice(0, 400)).toEqual([
      protocol === "REST" ? status : status === 413 ? 429 : status,
      code,
    ]);
    if (field !== undefined && protocol === "REST")
      expect((answer.body.errors as { field: string }[]).map((error) => error.field)).toContain(field);
    expect(await state()).toEqual(before);
  });
});

describe("Over REST", () => {
  it("an unknown member, 32 levels and an integer in quotes are accepted", async () => {
    const slug = `"slug":"wire-${Date.now()}"`;
    const body = nested(32)
      .replace('"slug":"wire-app"', slug)
      .replace('"base_price_cents":1900', '"base_price_cents":"1900"');
    expect(await app.call("POST", rest, { token, body })).toMatchObject({ status: 201 });
  });

  it.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "application/json; charset=utf-16",
    "x",
    "application/xml",
  ])("a content type of %s returns 415", async (type) => {
    expect(
      (await app.call("POST", rest, { token, body: whole, headers: { "content-type": type } })).body,
    ).toMatchObject({ status: 415, code: "unsupported_media_type" });
  });

  it.each(["br", "deflate", "zstd", "x", "gzip, gzip"])("a content coding of %s returns 415", async (coding) => {
    expect(
      (await app.call("POST", rest, { token, body: whole, headers: { "content-encoding": coding } })).body,
    ).toMatchObject({ status: 415 });
  });

  it.each([rest, connect])("headers of a body are taken at %s in every form that HTTP has for them", async (path) => {
    const body = whole.replace("wire-app", `form-${path.length}`);
    const headers = { "content-encoding": "X-GZIP", "content-type": 'Application/JSON ; charset="UTF-8"; a=b' };
    const { status } = await app.call("POST", path, { token, body: gzipSync(body), headers });
    expect(status).toBe(path === rest ? 201 : 200);
    const utf16 = { "content-type": 'application/json; charset="utf-16"' };
    expect((await app.call("POST", path, { token, body, headers: utf16 })).status).toBe(415);
  });

  it("gzip is decoded, measured after decoding, and refused when it is broken", async () => {
    const zipped = (text: string, cut = 0): Promise<{ status: number; body: { code: string } }> => {
      const bytes = gzipSync(text);
      return app.call("POST", rest, {
        token,
        body: bytes.subarray(0, bytes.length - cut),
        headers: { "content-encoding": "gzip" },
      });
    };
    expect((await zipped(whole.replace("wire-app", `zip-${Date.now()}`))).status).toBe(201);
    expect((await zipped(withMember(`"x":"${"x".repeat(20_000_000)}"`))).status).toBe(413);
    expect((await zipped(whole, 6)).body).toMatchObject({ status: 400, code: "bad_request" });
  });

  it.each(["x", "-1", "1.5", "12345678901", ""])("a Connect-Timeout-Ms of %j returns 400", async (timeout) => {
    expect(
      (await app.call("GET", "/api/auth/me", { token, headers: { "connect-timeout-ms": timeout } })).body,
    ).toMatchObject({ status: 400, code: "bad_request" });
  });

  it("the caller is checked before the body", async () => {
    expect((await app.call("POST", rest, { body: "{" })).status).toBe(401);
    expect((await app.call("POST", rest, { token: "x", body: "x".repeat(2_000_000) })).status).toBe(401);
    const { body } = await app.call("POST", "/api/organizations", {
      body: { name: `Wire ${Date.now()}`, email: "w@wire.test", password: "correct horse battery", first_name: "Ada" },
    });
    expect(
      (
        await app.call("POST", "/api/admin/marketplace/apps/0b1d2a3e-aaaa-4000-8000-00000000000f/approve", {
          token: body.access_token as string,
          body: "{",
        })
      ).status,
    ).toBe(403);
  });
});
