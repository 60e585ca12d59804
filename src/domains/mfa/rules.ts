/** The two budgets of a person (decisions 4.3). */
export type Budget = "second_factor" | "step_up";

/** Consecutive failures, and until when nothing is judged. */
export interface Count {
  failures: number;
  blockedUntil: Date | null;
}

/** Most factors of a person, pending and active; each one more makes a guess more likely. */
export const mostFactors = 10;
/** Wrong codes an mfa_token survives, plus one. */
export const triesPerToken = 5;
/** Recovery codes of a generation. */
export const codesPerGeneration = 10;

const stepUpFailures = 5;
const freeFailures = 10;
const shortestBlockMs = 2_000;
const longestBlockMs = 300_000;

/** Step-up: the fifth failure in a row locks for `lockMs`, after which the count starts at 0. */
export function afterStepUpFailure(failures: number, now: number, lockMs: number): Count {
  const count = failures + 1;
  return count >= stepUpFailures
    ? { failures: 0, blockedUntil: new Date(now + lockMs) }
    : { failures: count, blockedUntil: null };
}

/**
 * Second factor: from the tenth failure in a row on, a block of 2 s that doubles with each further one, to 5 minutes.
 */
export function afterSecondFactorFailure(failures: number, now: number): Count {
  const count = failures + 1;
  if (count < freeFailures) return { failures: count, blockedUntil: null };
  const blockMs = Math.min(shortestBlockMs * 2 ** Math.min(count - freeFailures, 30), longestBlockMs);
  return { failures: count, blockedUntil: new Date(now + blockMs) };
}

/** Whether a proof of the second factor is recent enough to change factors. Times in milliseconds. */
export function isRecent(provenAt: Date | null, now: number, maxAgeMs: number): boolean {
  return provenAt !== null && now - provenAt.getTime() <= maxAgeMs;
}

/** A code as the authenticator shows it, without the spaces people type. */
export function plainTotpCode(text: string): string {
  return text.replaceAll(/\s/gu, "");
}
