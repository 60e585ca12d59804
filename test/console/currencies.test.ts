import { data as currencies } from "currency-codes";
import { expect, it } from "vitest";
import { decimal, money } from "../../src/console/pages/apps/money.ts";
import { formatAmount } from "../../src/domains/billing/prices/amounts.ts";

it("the console prints a sum in every currency of ISO 4217 as the service does", () => {
  for (const { code, digits } of currencies) {
    const currency = code.toLowerCase();
    expect(money(1_234_567, currency)).toBe(formatAmount(1_234_567, currency));
    expect(decimal(1_234_567, currency)).toBe((1_234_567 / 10 ** digits).toFixed(digits));
  }
  expect(money(1_200_000, "rsd")).toMatch(/^RSD\s12,000\.00$/u);
});
