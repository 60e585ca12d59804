import { minorDigits } from "../../../platform/iso-codes.ts";
import { createLru } from "../../../platform/lru.ts";

/** Highest total of a price, minor units (decisions 10.3). */
const MAX_TOTAL = 99_999_999;

/** What some seats cost, minor units of the currency. */
export interface Amounts {
  subtotal: number;
  tax: number;
  total: number;
}

/** A fraction of integers. */
interface Fraction {
  numerator: bigint;
  denominator: bigint;
}

/** Number of tax rates that are kept as fractions. */
const MAX_RATES = 1_000;
const rates = createLru<Fraction>(MAX_RATES);

function rateOf(decimal: string): Fraction {
  let rate = rates.get(decimal);
  if (rate === undefined) rates.set(decimal, (rate = fractionOf(decimal)));
  return rate;
}

/** A decimal number as a fraction: `8.1` is 81/10, `1e-7` is 1/10,000,000. */
function fractionOf(decimal: string): Fraction {
  const [digits = "", exponent = "0"] = decimal.toLowerCase().split("e");
  const [whole = "", rest = ""] = digits.split(".");
  const shift = Number(exponent) - rest.length;
  const numerator = BigInt(whole + rest);
  return shift >= 0
    ? { numerator: numerator * 10n ** BigInt(shift), denominator: 1n }
    : { numerator, denominator: 10n ** BigInt(-shift) };
}

/**
 * What `seats` cost at `unitAmount` minor units each, with tax on top of the subtotal, rounded half up.
 * `taxPercent`: a decimal of at least 0, such as `8.1`. Undefined when the total is above 99,999,999.
 */
export function amountsOf(unitAmount: number, seats: number, taxPercent: string | null): Amounts | undefined {
  const subtotal = BigInt(unitAmount) * BigInt(seats);
  const { numerator, denominator } = rateOf(taxPercent ?? "0");
  const whole = 100n * denominator;
  const tax = (2n * subtotal * numerator + whole) / (2n * whole);
  const total = subtotal + tax;
  if (total > BigInt(MAX_TOTAL)) return undefined;
  return { subtotal: Number(subtotal), tax: Number(tax), total: Number(total) };
}

/** Formats of the currencies seen so far: making one takes longer than all other work of a preview. */
const formats = new Map<string, Intl.NumberFormat>();

function formatOf(currency: string, digits: number): Intl.NumberFormat {
  let format = formats.get(currency);
  if (format === undefined) {
    const fixed = { minimumFractionDigits: digits, maximumFractionDigits: digits };
    format = new Intl.NumberFormat("en", { style: "currency", currency, ...fixed });
    formats.set(currency, format);
  }
  return format;
}

/** Number of amounts that are kept as text: a page of prices asks for few of them, again and again. */
const MAX_TEXTS = 10_000;
const texts = createLru<string>(MAX_TEXTS);

/** An amount for people, in English: `$1,234.50`, `¥1,235`. `currency` is one that exists. */
export function formatAmount(amount: number, currency: string): string {
  const key = `${amount} ${currency}`;
  let text = texts.get(key);
  if (text === undefined) texts.set(key, (text = printAmount(amount, currency)));
  return text;
}

function printAmount(amount: number, currency: string): string {
  const digits = minorDigits(currency) ?? 2;
  const padded = String(amount).padStart(digits + 1, "0");
  const decimal = digits === 0 ? padded : `${padded.slice(0, -digits)}.${padded.slice(-digits)}`;
  // As a string the number is formatted exactly.
  return formatOf(currency, digits).format(decimal as Intl.StringNumericLiteral);
}
