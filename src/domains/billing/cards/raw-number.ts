/** Whether digits pass the check of card numbers (ISO/IEC 7812-1). */
function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (const [nth, digit] of [...digits].reverse().entries()) {
    const value = Number(digit) * (nth % 2 === 1 ? 2 : 1);
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0;
}

/** Lengths of card numbers (ISO/IEC 7812-1). */
const [MIN_DIGITS, MAX_DIGITS] = [13, 19];
/** Positions of one run of digits at which a card number is looked for. */
const MAX_STARTS = 64;

/**
 * Whether a text contains a card number: 13 to 19 digits that pass the check, whatever stands between them but letters
 * and digits.
 */
function hasCardNumber(text: string): boolean {
  for (const [run] of text.normalize("NFKC").matchAll(/\d(?:[^\p{L}\d]{0,3}\d){12,}/gu)) {
    const digits = run.replaceAll(/\D/gu, "");
    for (let start = 0; start + MIN_DIGITS <= digits.length && start < MAX_STARTS; start++)
      for (let length = MIN_DIGITS; length <= MAX_DIGITS && start + length <= digits.length; length++)
        if (passesLuhn(digits.slice(start, start + length)) && isIssued(digits.slice(start))) return true;
  }
  return false;
}

/** Whether a number begins as those of payment cards do: 2 to 6, which leaves out times in milliseconds. */
const isIssued = (digits: string): boolean => /^[2-6]/u.test(digits);

/** Whether a card number stands anywhere in a JSON value: in members' names and values, also as a number. */
export function containsCardNumber(value: unknown): boolean {
  if (typeof value === "string") return hasCardNumber(value);
  if (typeof value === "number") return Number.isFinite(value) && hasCardNumber(BigInt(Math.trunc(value)).toString());
  if (Array.isArray(value)) return value.some(containsCardNumber);
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([name, item]) => hasCardNumber(name) || containsCardNumber(item));
}
