import { personRequired } from "../../platform/caller.ts";
import type { Caller } from "../../platform/caller.ts";

/** The two budgets of a person (decisions 4.3). */
export type Budget = "second_factor" | "step_up";

/** Consecutive failures, and the end of the lockout. */
export interface Count {
  failures: number;
  /** Wrong codes of the second factor at step-up since the last right one. */
  wrongCodes: number;
  blockedUntil: Date | null;
}

/** Maximum number of factors of a person, pending and active; each one makes a guess more likely. */
export const MAX_FACTORS = 10;
/** Age from which a pending factor makes room for a new one, milliseconds: nobody will verify it any more. */
export const ABANDONED_MS = 3_600_000;
/** Wrong codes that end an mfa_token. */
export const FAILURES_PER_TOKEN = 5;
/** Recovery codes of a generation. */
export const CODES_PER_GENERATION = 10;

const STEP_UP_FAILURES = 5;
/** From this many wrong codes on, each one locks step-up. */
const LOCKING_CODES = 100;
const FREE_FAILURES = 10;
const SHORTEST_LOCK_MS = 2_000;
const LONGEST_LOCK_MS = 300_000;

/**
 * Step-up: the fifth consecutive failure locks for `lockMs`, after which the count starts at 0. Proofs by password or
 * mail reset it too, so that whoever can give them could guess codes without end: from the hundredth wrong code on,
 * each one locks until there was a right one.
 */
export function afterStepUpFailure(before: Count, isCode: boolean, now: number, lockMs: number): Count {
  const [count, codes] = [before.failures + 1, before.wrongCodes + (isCode ? 1 : 0)];
  return count >= STEP_UP_FAILURES || (isCode && codes >= LOCKING_CODES)
    ? { failures: 0, wrongCodes: codes, blockedUntil: new Date(now + lockMs) }
    : { failures: count, wrongCodes: codes, blockedUntil: null };
}

/**
 * Second factor: from the tenth consecutive failure on, a lockout of 2 s that doubles with each one, up to 5 minutes.
 */
export function afterSecondFactorFailure({ failures, wrongCodes }: Count, now: number): Count {
  const count = failures + 1;
  if (count < FREE_FAILURES) return { failures: count, wrongCodes, blockedUntil: null };
  const lockoutMs = Math.min(SHORTEST_LOCK_MS * 2 ** Math.min(count - FREE_FAILURES, 30), LONGEST_LOCK_MS);
  return { failures: count, wrongCodes, blockedUntil: new Date(now + lockoutMs) };
}

/** Whether a proof of the second factor is recent enough to change factors. Times in milliseconds. */
export function isRecent(provenAt: Date | null, now: number, maxAgeMs: number): boolean {
  return provenAt !== null && now - provenAt.getTime() <= maxAgeMs;
}

/** A code as the authenticator shows it, without the spaces people type. */
export function plainTotpCode(text: string): string {
  return text.replaceAll(/\s/gu, "");
}

/**
 * The person who calls, and their session.
 * @throws {forbidden} when the credential is not a person's access token
 */
export function personOf({ userUuid, sessionId }: Pick<Caller, "userUuid" | "sessionId">): {
  userUuid: string;
  sessionId: string;
} {
  if (userUuid === null || sessionId === null) throw personRequired();
  return { userUuid, sessionId };
}
