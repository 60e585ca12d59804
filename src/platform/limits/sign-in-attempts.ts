import { ServiceError } from "../errors.ts";
import type { DelayRule, Delays } from "./delays.ts";
import { demandNoWait } from "./spend.ts";
import { SIGN_IN_FAILURES } from "./streaks.ts";
import type { Streaks } from "./streaks.ts";

/** What limits sign-in attempts. */
export interface SignInAttemptsDeps {
  delays: Delays;
  streaks: Streaks;
  /** Whether an address has signed in the person behind an email within 30 days. */
  signedInFrom: (emailKey: string, address: string) => Promise<boolean>;
}

/** Who makes an attempt. */
export interface Attempt {
  /** As limits count it. */
  address: string;
  /** In the form in which mailboxes are compared. */
  email: string;
  /** Whether failures delay the next attempt: those with a password, but not those with a mailed code. */
  delayed: boolean;
}

/**
 * Sign-in attempts by password or mailed code. Failures delay the next attempt and finally lock out addresses from
 * which the person has not signed in before.
 */
export interface SignInAttempts {
  /** Returns how long the next attempt has to wait. */
  waitMs(attempt: Attempt): Promise<number>;
  /**
   * Runs an attempt and counts its result: 401 is a failure.
   * @throws {rate_limited} when the attempt is not allowed
   */
  run<T>(attempt: Attempt, work: () => Promise<T> | T): Promise<T>;
}

const MINUTE_MS = 60_000;
/** Decisions 13: after 10 failures a delay of 1 minute, doubling to 15. */
const DELAY: DelayRule = {
  name: "login",
  tolerated: 10,
  firstMs: MINUTE_MS,
  mostMs: 15 * MINUTE_MS,
  forgetMs: 24 * 60 * MINUTE_MS,
};
/** Time to wait in a lockout, which ends only with a sign-in from a known address. */
const LOCKOUT_MS = 60 * MINUTE_MS;

/** Creates the counting of sign-in attempts. */
export function createSignInAttempts({ delays, streaks, signedInFrom }: SignInAttemptsDeps): SignInAttempts {
  const delayOf = ({ address, email, delayed }: Attempt) =>
    delayed ? delays.begin(DELAY, `${address} ${email}`) : undefined;

  async function waitMs(attempt: Attempt): Promise<number> {
    const { email, address } = attempt;
    const lockedOut = (await streaks.full(SIGN_IN_FAILURES, email)) && !(await signedInFrom(email, address));
    return lockedOut ? LOCKOUT_MS : ((await delayOf(attempt))?.waitMs ?? 0);
  }

  return {
    waitMs,
    async run(attempt, work) {
      const { email, address } = attempt;
      const delay = await delayOf(attempt);
      if (delay !== undefined && delay.waitMs > 0) demandNoWait(Math.max(delay.waitMs, await waitMs(attempt)));
      const charged = await streaks.charge(SIGN_IN_FAILURES, email);
      if (!charged && !(await signedInFrom(email, address))) demandNoWait(LOCKOUT_MS);
      try {
        const response = await work();
        await delay?.passed();
        // A new session has ended the streak. While the second factor is missing, the attempt counts as neither.
        if (charged && requiresSecondFactor(response)) await streaks.refund(SIGN_IN_FAILURES, email);
        return response;
      } catch (error) {
        if (error instanceof ServiceError && error.status === 401) await delay?.failed();
        else if (charged) await streaks.refund(SIGN_IN_FAILURES, email);
        throw error;
      }
    },
  };
}

function requiresSecondFactor(response: unknown): boolean {
  return (response as { mfaRequired?: unknown } | undefined)?.mfaRequired === true;
}
