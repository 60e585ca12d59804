/**
 * Reads `Retry-After` in both forms of RFC 9110 §10.2.3: seconds, or an HTTP date. What is neither counts as absent.
 */
export function retryAfterMsOf(value: string | null, nowMs: number): number | undefined {
  if (value === null) return undefined;
  const text = value.trim();
  if (/^\d{1,9}$/u.test(text)) return Number(text) * 1_000;
  // A date has letters; Date.parse alone also takes "-5" and "1.5".
  const at = /^[A-Za-z]{3}/u.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}
