import { normalizeLong } from "../../../platform/normalize.ts";

/** Lengths of card numbers (ISO/IEC 7812-1). */
const [MIN_DIGITS, MAX_DIGITS] = [13, 19];
/** Positions of one run of digits at which a card number is looked for. */
const MAX_STARTS = 64;
/** From here on, texts of numbers have an exponent. */
const MIN_EXPONENTIAL = 1e21;

/** What each digit adds to the sum of the check where it counts twice. */
const TWICE = [0, 2, 4, 6, 8, 1, 3, 5, 7, 9] as const;

/** Most digits of one run that are read. */
const MAX_READ = MAX_STARTS + MAX_DIGITS;
/** Sums of the digits before each one, in which those at even or at odd positions count twice. */
const [evenTwice, oddTwice] = [new Uint16Array(MAX_READ + 1), new Uint16Array(MAX_READ + 1)];

/**
 * Whether one of the digits begins a number of 13 to 19 digits that passes the check of card numbers (ISO/IEC 7812-1)
 * and begins as those of payment cards do: by 2 to 6, which leaves out times in milliseconds. Each number is checked by
 * sums over the digits before its ends, so that many of them in one body take no long time.
 */
function hasNumber(digits: string): boolean {
  const length = Math.min(digits.length, MAX_READ);
  for (let at = 0; at < length; at++) {
    const digit = digits.charCodeAt(at) - 48;
    const [once, twice] = [digit, TWICE[digit] ?? 0];
    evenTwice[at + 1] = (evenTwice[at] ?? 0) + (at % 2 === 0 ? twice : once);
    oddTwice[at + 1] = (oddTwice[at] ?? 0) + (at % 2 === 1 ? twice : once);
  }
  for (let start = 0; start + MIN_DIGITS <= length && start < MAX_STARTS; start++) {
    const first = digits[start] ?? "";
    if (first < "2" || first > "6") continue;
    for (let end = start + MIN_DIGITS; end <= Math.min(start + MAX_DIGITS, length); end++) {
      // The last digit counts once, the one before it twice.
      const sums = end % 2 === 0 ? evenTwice : oddTwice;
      if (((sums[end] ?? 0) - (sums[start] ?? 0)) % 10 === 0) return true;
    }
  }
  return false;
}

/**
 * Whether a text contains a card number: 13 to 19 digits that pass the check, whatever stands between them but letters
 * and digits. Normalization makes at most three digits of one character (`⅒`).
 */
function hasCardNumber(text: string): boolean {
  if (text.length * 3 < MIN_DIGITS) return false;
  for (const [run] of normalizeLong(text, "NFKC").matchAll(/\d(?:[^\p{L}\d]{0,3}\d){12,}/gu))
    if (hasNumber(run.replaceAll(/\D/gu, ""))) return true;
  return false;
}

/** The same of a number. Of a very large one, the digits that it is exact to begin the number, and zeros follow. */
function isCardNumber(value: number): boolean {
  const size = Math.abs(value);
  if (size < MIN_EXPONENTIAL) return hasNumber(BigInt(Math.trunc(size)).toString());
  const [digits = ""] = String(size).replace(".", "").split("e");
  return hasNumber(digits.padEnd(MAX_DIGITS, "0"));
}

/** Whether a card number stands anywhere in a JSON value: in members' names and values, also as a number. */
export function containsCardNumber(value: unknown): boolean {
  if (typeof value === "string") return hasCardNumber(value);
  if (typeof value === "number") return Number.isFinite(value) && isCardNumber(value);
  if (Array.isArray(value)) return value.some(containsCardNumber);
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([name, item]) => hasCardNumber(name) || containsCardNumber(item));
}
