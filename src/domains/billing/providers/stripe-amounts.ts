import { UnsupportedSum } from "./provider.ts";

/** Stripe's units for a number of ISO 4217 minor units, where these differ (docs.stripe.com/currencies). */
const UNITS: Readonly<Record<string, { units: number; minor: number }>> = {
  isk: { units: 100, minor: 1 },
  ugx: { units: 100, minor: 1 },
  mga: { units: 1, minor: 100 },
};
/** Currencies of three decimal places, of which Stripe takes two: the last digit must be 0. */
const TWO_OF_THREE: ReadonlySet<string> = new Set(["bhd", "jod", "kwd", "omr", "tnd"]);
/** Highest amount that Stripe takes, its own units: eight digits. */
const MAX_UNITS = 99_999_999;

/**
 * ISO 4217 minor units as Stripe's units.
 * @throws UnsupportedSum when Stripe has no unit small enough for the amount, or not so many
 */
export function toStripe(amount: number, currency: string): number {
  const { units, minor } = UNITS[currency] ?? { units: 1, minor: 1 };
  const converted = (amount * units) / minor;
  if (!Number.isInteger(converted) || (TWO_OF_THREE.has(currency) && converted % 10 !== 0))
    throw new UnsupportedSum(`${amount} minor units of ${currency} are too fine for Stripe`);
  if (converted > MAX_UNITS) throw new UnsupportedSum(`${amount} minor units of ${currency} are too many for Stripe`);
  return converted;
}

/** Stripe's units as ISO 4217 minor units; a fraction of one is left out, so that too small a sum never matches. */
export function fromStripe(amount: number, currency: string): number {
  const { units, minor } = UNITS[currency] ?? { units: 1, minor: 1 };
  return Math.floor((amount * minor) / units);
}
