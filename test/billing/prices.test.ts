import { codes, code as currencyByCode } from "currency-codes";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { amountsOf, formatAmount } from "../../src/domains/billing/prices/amounts.ts";
import { createCountryLookup } from "../../src/domains/billing/prices/region.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let admin: string;
let buyer: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  admin = await app.login();
  buyer = await founder(app);
});
afterAll(() => app.close());

const price = { product: "seats", interval: "month", currency: "usd", unit_amount_cents: 1_000 };
const create = (change: object = {}, token = admin) =>
  app.call("POST", "/api/admin/pricing/prices", { token, body: { ...price, ...change } });
const preview = (body: object, token = buyer.token) => app.call("POST", "/api/pricing/preview", { token, body });

describe("plans", () => {
  test("platform admins list and set plans, and an organization has the features of its plan", async () => {
    const { data } = (await app.call("GET", "/api/admin/plans", { token: admin })).body;
    expect(data.map(({ plan }: { plan: string }) => plan)).toEqual(
      expect.arrayContaining(["enterprise", "free", "pro"]),
    );
    const set = await app.call("PUT", "/api/admin/plans/team", {
      token: admin,
      body: { name: "Team", features: ["sso", "exports"] },
    });
    expect(set).toMatchObject({ status: 200, body: { plan: "team", name: "Team", features: ["sso", "exports"] } });
    await app.call("PATCH", `/api/organizations/${buyer.org}`, { token: admin, body: { plan: "team" } });
    const { entitlements } = (await app.call("GET", `/api/organizations/${buyer.org}`, { token: buyer.token })).body;
    expect(entitlements).toEqual(expect.arrayContaining(["sso", "exports"]));
  });

  test("others get 403, and a bad plan name or feature 400", async () => {
    expect((await app.call("GET", "/api/admin/plans", { token: buyer.token })).status).toBe(403);
    const put = (plan: string, body: object, token = admin) =>
      app.call("PUT", `/api/admin/plans/${plan}`, { token, body });
    expect((await put("x", { name: "X" }, buyer.token)).status).toBe(403);
    for (const [plan, body] of [
      ["Upper", { name: "X" }],
      ["x", {}],
      ["x", { name: "X", features: ["a", "a"] }],
      ["x", { name: "X", features: [""] }],
    ] as const)
      expect(await put(plan, body)).toMatchObject({ status: 400, body: { code: "validation_error" } });
  });
});

describe("prices", () => {
  test("a price is made once, listed, and inactive after its end", async () => {
    const made = await create({
      plan: "pro",
      tax_percent: 8.1,
      regions: [{ region: "CH", currency: "chf", unit_amount_cents: 950, tax_percent: 8.1 }],
    });
    expect(made).toMatchObject({
      status: 201,
      body: { ...price, plan: "pro", tax_percent: 8.1, active: true, price_id: expect.any(Number) },
    });
    const id = made.body.price_id;
    const list = async (query: string) =>
      (await app.call("GET", `/api/pricing/prices${query}`, { token: buyer.token })).body;
    expect((await list("?limit=1")).data).toEqual([made.body]);
    const end = () => app.call("DELETE", `/api/admin/pricing/prices/${id}`, { token: admin });
    expect((await end()).status).toBe(204);
    expect(await end()).toMatchObject({ status: 404, body: { code: "price_not_found" } });
    expect((await list("?active=false")).data).toMatchObject([{ price_id: id, active: false }]);
    expect(await preview({ price_id: id })).toMatchObject({ status: 404, body: { code: "price_not_found" } });
  });

  test("bad prices return 400, and others than platform admins get 403", async () => {
    expect((await create({}, buyer.token)).status).toBe(403);
    const row = { region: "CH", currency: "chf", unit_amount_cents: 1 };
    for (const [change, code] of [
      [{ currency: "xxq" }, "currency_unsupported"],
      [{ regions: [{ ...row, currency: "zzz" }] }, "currency_unsupported"],
      [{ plan: "no-such-plan" }, "invalid_plan"],
      [{ regions: [row, row] }, "validation_error"],
      [{ regions: [{ ...row, region: "ch" }] }, "validation_error"],
      ...["ZZ", "XX", "UK", "EU", "XK"].map(
        (region) => [{ regions: [row, { ...row, region }] }, "validation_error"] as const,
      ),
      [{ unit_amount_cents: -1 }, "validation_error"],
      [{ unit_amount_cents: 1.5 }, "validation_error"],
      [{ unit_amount_cents: 100_000_000 }, "validation_error"],
      [{ interval: "week" }, "validation_error"],
      [{ tax_percent: -1 }, "validation_error"],
      [{ tax_percent: 100.1 }, "validation_error"],
      [{ currency: "USD" }, "validation_error"],
    ] as const)
      expect(await create(change)).toMatchObject({
        status: 400,
        body: { code: expect.stringMatching(`${code}|bad_request`) },
      });
  });
});

describe("a preview", () => {
  let id: number;
  beforeAll(async () => {
    id = (
      await create({
        tax_percent: 10,
        regions: [
          { region: "DE", currency: "eur", unit_amount_cents: 900, tax_percent: 19 },
          { region: "DE", currency: "usd", unit_amount_cents: 990, tax_percent: 19 },
          { region: "JP", currency: "jpy", unit_amount_cents: 1_500 },
          { region: "US", currency: "usd", unit_amount_cents: 1_100 },
        ],
      })
    ).body.price_id;
  });

  test.each([
    [{}, { region: "default", currency: "usd", subtotal_cents: 1_000, tax_cents: 100, total_cents: 1_100 }],
    [{ ip_address: "::ffff:5.9.0.1" }, { region: "DE", currency: "eur" }],
    [{ region: "DE" }, { region: "DE", currency: "eur", tax_cents: 171, total_cents: 1_071, formatted: "€10.71" }],
    [
      { country: "JP", region: "DE" },
      { region: "JP", currency: "jpy", tax_cents: 0, formatted: "¥1,500" },
    ],
    [
      { region: "DE", currency: "USD" },
      { region: "DE", currency: "usd", unit_amount_cents: 990 },
    ],
    [
      { region: "DE", currency: "jpy" },
      { region: "JP", currency: "jpy" },
    ],
    [
      { region: "JP", currency: "usd" },
      { region: "default", currency: "usd", unit_amount_cents: 1_000 },
    ],
    [{ region: "FR" }, { region: "default", currency: "usd" }],
    [{ region: "default" }, { region: "default" }],
    [{ ip_address: "8.8.8.8" }, { region: "US", unit_amount_cents: 1_100 }],
    [{ ip_address: "2001:4860:4860::8888" }, { region: "US" }],
    [{ ip_address: "127.0.0.1" }, { region: "default" }],
    [{ ip_address: "8.8.8.8", region: "DE" }, { region: "DE" }],
    [{ seats: 3 }, { seats: 3, subtotal_cents: 3_000, tax_cents: 300, total_cents: 3_300, formatted: "$33.00" }],
  ])("%j is worked out as decisions 10.3 say", async (wish, expected) => {
    expect(await preview({ price_id: id, ...wish })).toMatchObject({
      status: 200,
      body: { price_id: id, ...expected },
    });
  });

  test("unknown prices, currencies and bad numbers are refused", async () => {
    for (const [body, status, code] of [
      [{ price_id: 999_999 }, 404, "price_not_found"],
      [{ price_id: id, currency: "chf" }, 400, "currency_unsupported"],
      [{ price_id: id, currency: "nonsense" }, 400, "currency_unsupported"],
      [{ price_id: id, seats: 0 }, 400, "validation_error"],
      [{ price_id: id, seats: 1_000_001 }, 400, "validation_error"],
      [{ price_id: id, seats: 1_000_000 }, 400, "validation_error"],
      [{ price_id: id, seats: 1.5 }, 400, "validation_error"],
      [{ price_id: id, region: "Germany" }, 400, "validation_error"],
      [{ price_id: id, ip_address: "nowhere" }, 400, "validation_error"],
      [{}, 400, "validation_error"],
    ] as const)
      expect(await preview(body)).toMatchObject({ status, body: { code } });
  });

  test("the highest total, tax included, is 99,999,999", async () => {
    const taxed = async (unit_amount_cents: number) =>
      preview({ price_id: (await create({ unit_amount_cents, tax_percent: 10 })).body.price_id });
    expect(await taxed(90_909_090)).toMatchObject({ status: 200, body: { total_cents: 99_999_999 } });
    expect(await taxed(90_909_091)).toMatchObject({ status: 400, body: { code: "validation_error" } });
  });
});

describe("amounts", () => {
  test("tax is rounded half up exactly as rational arithmetic does, in every currency", () => {
    let state = 42;
    const next = (below: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
      return state % below;
    };
    for (let round = 0; round < 20_000; round++) {
      const [unit, seats, scale] = [next(10_000), 1 + next(200), next(5)];
      const rate = next(100 * 10 ** scale + 1);
      const percent = String(rate / 10 ** scale);
      const amounts = amountsOf(unit, seats, percent);
      const subtotal = unit * seats;
      if (amounts === undefined) {
        expect(subtotal * 2).toBeGreaterThan(99_999_999);
        continue;
      }
      // 2 · subtotal · rate + 1 · denominator, over twice the denominator, in integers.
      const denominator = 100n * 10n ** BigInt(scale);
      const exact = BigInt(subtotal) * BigInt(rate);
      const [whole, rest] = [exact / denominator, exact % denominator];
      expect(BigInt(amounts.tax)).toBe(rest * 2n >= denominator ? whole + 1n : whole);
      expect(amounts.total).toBe(amounts.subtotal + amounts.tax);
    }
    for (const currency of codes()) {
      const digits = currencyByCode(currency)?.digits ?? 0;
      const text = formatAmount(1_234_567, currency.toLowerCase());
      expect(text.replaceAll(/[^0-9.]/gu, "").replace(/^\.+/u, "")).toBe(
        digits === 0 ? "1234567" : (1_234_567 / 10 ** digits).toFixed(digits),
      );
      expect(formatAmount(0, currency.toLowerCase())).toMatch(/0/u);
    }
  });

  test("an odd percentage is taken as it is written", () => {
    expect(amountsOf(1_000, 1, "0.05")).toMatchObject({ tax: 1 });
    expect(amountsOf(1_000, 1, "0.0499999")).toMatchObject({ tax: 0 });
    expect(amountsOf(1_000, 1, "1e-7")).toMatchObject({ tax: 0 });
    expect(amountsOf(99_999_999, 1, "0")).toMatchObject({ total: 99_999_999 });
    expect(amountsOf(99_999_999, 1, "1")).toBeUndefined();
  });

  test("addresses without a country, and what is no address, have none", () => {
    const countryOf = createCountryLookup();
    for (const address of ["81.2.69.142", "::ffff:81.2.69.142", "::FFFF:5102:458E"])
      expect(countryOf(address)).toBe("GB");
    for (const address of ["127.0.0.1", "10.0.0.1", "::1", "fe80::1%eth0", "nonsense", ""])
      expect(countryOf(address)).toBeUndefined();
  });
});
