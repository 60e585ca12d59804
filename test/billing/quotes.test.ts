import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from "jose";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { elevated, founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { publishApp } from "../matrix/world.ts";

/** A Python with the packages of `judges/requirements.txt`; `.ci/run` sets it where there is Python. */
const python = process.env["BILLING_JUDGES"];
const script = fileURLToPath(new URL("judges/verify_quote.py", import.meta.url));

let app: TestApp;
let admin: string;
let buyer: Somebody;
let priceId: number;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  admin = await app.login();
  buyer = await founder(app);
  const body = { product: "seats", interval: "month", currency: "usd", unit_amount_cents: 1_000, tax_percent: 7.7 };
  priceId = (await app.call("POST", "/api/admin/pricing/prices", { token: admin, body })).body.price_id;
});
afterAll(() => app.close());

const quote = (body: object, token = buyer.token) => app.call("POST", "/api/pricing/quote", { token, body });

test("a quote is valid for 15 minutes, and its token verifies with the organization's key set", async () => {
  const answer = await quote({ price_id: priceId, seats: 3 });
  expect(answer).toMatchObject({
    status: 200,
    body: {
      price_id: priceId,
      install_id: null,
      seats: 3,
      currency: "usd",
      region: "default",
      unit_amount_cents: 1_000,
      subtotal_cents: 3_000,
      tax_cents: 231,
      total_cents: 3_231,
      status: "open",
    },
  });
  expect(answer.headers.get("cache-control")).toBe("no-store");
  const { token, quote_id, issued_at, expires_at } = answer.body;
  expect(Date.parse(expires_at) - Date.parse(issued_at)).toBe(900_000);
  const keys = (await app.call("GET", `/api/organizations/${buyer.org}/.well-known/jwks.json`)).body;
  const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(keys), {
    currentDate: new Date(app.clock.now()),
  });
  expect(protectedHeader.typ).toBe("atrium-quote+jwt");
  expect(payload).toMatchObject({
    org: buyer.org,
    quote_id,
    price_id: priceId,
    seats: 3,
    currency: "usd",
    total_cents: 3_231,
    jti: expect.any(String),
    iat: Date.parse(issued_at) / 1_000,
    exp: Date.parse(expires_at) / 1_000,
  });
});

test("quotes made at once share transactions, and each verifies with the key set of its own organization", async () => {
  const buyers = [buyer, await founder(app)];
  const made = await Promise.all(
    Array.from({ length: 16 }, async (_, nth) => {
      const { org, token } = buyers[nth % 2] as Somebody;
      const { status, body } = await quote({ price_id: priceId, seats: nth + 1 }, token);
      expect(status).toBe(200);
      return { org, seats: nth + 1, id: body.quote_id as string, token: body.token as string };
    }),
  );
  for (const { org } of buyers) {
    const keys = (await app.call("GET", `/api/organizations/${org}/.well-known/jwks.json`)).body;
    for (const { token, id, seats } of made.filter((one) => one.org === org)) {
      const { payload } = await jwtVerify(token, createLocalJWKSet(keys), { currentDate: new Date(app.clock.now()) });
      expect(payload).toMatchObject({ org, quote_id: id, seats });
    }
  }
  const stored = await runSql<{ org: string; seats: number; of: string }>(
    app.databaseUrl,
    "select org_uuid as org, seats, xmin::text as of from quotes where quote_id = any ($1) order by seats",
    [made.map(({ id }) => id)],
  );
  expect(stored.map(({ org, seats }) => ({ org, seats }))).toEqual(made.map(({ org, seats }) => ({ org, seats })));
  expect(new Set(stored.map(({ of }) => of)).size).toBeLessThan(made.length);
});

test("a quote after a rotation is signed with the new key", async () => {
  const { org, token } = await founder(app);
  const kidOf = async (): Promise<unknown> =>
    decodeProtectedHeader((await quote({ price_id: priceId }, token)).body.token as string).kid;
  const before = await kidOf();
  expect(await kidOf()).toBe(before);
  const strong = await elevated(app, token);
  const path = `/api/admin/organizations/${org}/signing-keys/rotate`;
  const { status, body } = await app.call("POST", path, { token: strong });
  expect(status).toBe(200);
  expect(body.previous_key_id).toBe(before);
  expect(await kidOf()).toBe(body.new_key_id);
});

test("of quotes made at once, only that of a session which ends meanwhile is refused", async () => {
  const leaver = await founder(app);
  // Sessions that the service knows are judged together with others.
  for (let nth = 0; nth < 2; nth++) expect((await quote({ price_id: priceId }, leaver.token)).status).toBe(200);
  const ending = new pg.Client({ connectionString: app.databaseUrl });
  await ending.connect();
  await ending.query("begin");
  // The gate still finds the session live; the transactions that quote wait for the one that ends it.
  const sid = decodeJwt(leaver.token)["sid"];
  await ending.query("update sessions set revoked_at = now() where uuid = $1", [sid]);
  const asked = [buyer, leaver, buyer].map(({ token }) => quote({ price_id: priceId, seats: 77 }, token));
  const [first, second, third] = asked;
  expect([(await first)?.status, (await third)?.status]).toEqual([200, 200]);
  await ending.query("commit");
  await ending.end();
  expect((await second)?.status).toBe(401);
  const stored = await runSql<{ org: string }>(app.databaseUrl, "select org_uuid as org from quotes where seats = 77");
  expect(stored.map(({ org }) => org)).toEqual([buyer.org, buyer.org]);
});

test("a quote is no bearer", async () => {
  const { token } = (await quote({ price_id: priceId })).body;
  expect((await app.call("GET", "/api/auth/me", { token })).status).toBe(401);
});

test("an install is quoted by its plan and quantity", async () => {
  const publisher = await founder(app);
  const { slug } = await publishApp(app, publisher.token, admin);
  const installed = await app.call("POST", `/api/marketplace/${slug}/install`, {
    token: buyer.token,
    body: { quantity: 4 },
  });
  const installId = installed.body.install_id;
  const answer = await quote({ install_id: installId });
  expect(answer).toMatchObject({
    status: 200,
    body: { install_id: installId, price_id: null, seats: 4, region: "default", tax_cents: 0 },
  });
  const { unit_amount_cents: unit, total_cents: total, currency } = answer.body;
  expect(total).toBe(4 * unit);
  expect((await quote({ install_id: installId, currency: currency.toUpperCase() })).status).toBe(200);
  expect((await quote({ install_id: installId, currency: "chf" })).body.code).toBe("currency_unsupported");
  expect((await quote({ install_id: installId }, publisher.token)).body.code).toBe("install_not_found");
  await runSql(app.databaseUrl, "update installs set status = 'deprovisioned' where install_id = $1", [installId]);
  expect(await quote({ install_id: installId })).toMatchObject({ status: 404, body: { code: "install_not_found" } });
});

test("exactly one of price_id and install_id is demanded", async () => {
  const nothing = "0b1d2a3e-aaaa-4000-8000-00000000000f";
  for (const body of [{}, { price_id: priceId, install_id: nothing }, { price_id: priceId, seats: 0 }])
    expect(await quote(body)).toMatchObject({ status: 400, body: { code: "validation_error" } });
  expect(await quote({ price_id: 999_999 })).toMatchObject({ status: 404, body: { code: "price_not_found" } });
  expect(await quote({ install_id: nothing })).toMatchObject({ status: 404, body: { code: "install_not_found" } });
  expect(await quote({ price_id: priceId, currency: "eur" })).toMatchObject({
    status: 400,
    body: { code: "currency_unsupported" },
  });
});

test.skipIf(python === undefined)("PyJWT verifies a quote with the organization's key set", async () => {
  const { token, quote_id } = (await quote({ price_id: priceId, seats: 2 })).body;
  const keys = `${app.url}/api/organizations/${buyer.org}/.well-known/jwks.json`;
  const printed = await new Promise<string>((resolve, reject) => {
    const child = execFile(python ?? "", [script, keys], (error, out, err) =>
      error === null ? resolve(out) : reject(new Error(err)),
    );
    child.stdin?.end(token);
  });
  expect(JSON.parse(printed)).toMatchObject({ quote_id, org: buyer.org, seats: 2, total_cents: 2_154 });
});

test("the region of a quote is that of the client's address alone", async () => {
  const proxied = await startApp({
    databaseUrl: app.databaseUrl,
    clock: app.clock,
    env: { SERVICE_TRUSTED_PROXIES: "127.0.0.1" },
  });
  try {
    const body = { product: "seats", interval: "month", currency: "usd", unit_amount_cents: 1_000 };
    const regions = [
      { region: "US", currency: "usd", unit_amount_cents: 1_100 },
      { region: "DE", currency: "eur", unit_amount_cents: 900 },
    ];
    const made = await app.call("POST", "/api/admin/pricing/prices", { token: admin, body: { ...body, regions } });
    const wish = { price_id: made.body.price_id, region: "DE", country: "DE", ip_address: "5.9.0.1" };
    const from = async (address: string) => {
      const headers = { "x-forwarded-for": address };
      const { body: quoted } = await proxied.call("POST", "/api/pricing/quote", {
        token: buyer.token,
        headers,
        body: wish,
      });
      return [quoted.region, quoted.currency, quoted.total_cents];
    };
    expect(await from("8.8.8.8")).toEqual(["US", "usd", 1_100]);
    expect(await from("5.9.0.1")).toEqual(["DE", "eur", 900]);
    expect(await from("127.0.0.1")).toEqual(["default", "usd", 1_000]);
    expect((await quote(wish)).body.region).toBe("default");
  } finally {
    await proxied.close();
  }
});
