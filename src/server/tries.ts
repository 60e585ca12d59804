import { ServiceError } from "../platform/errors.ts";
import type { DelayRule, Delays, Streaks } from "../platform/limits/index.ts";
import { SIGN_IN_FAILURES } from "../platform/limits/index.ts";

/** What tries to sign in are limited by. */
export interface TriesDeps {
  delays: Delays;
  streaks: Streaks;
  /** Whether an address has signed in the person behind an email within 30 days. */
  signedInFrom: (emailKey: string, address: string) => Promise<boolean>;
}

/** Who tries, as they are counted, and the door: only passwords are delayed. */
export interface Tried {
  address: string;
  email: string;
  delayed: boolean;
}

/**
 * Tries to sign in by a password or a mailed code: failures delay the next one and, in the end, shut out who is not
 * known.
 */
export interface Tries {
  /** How long somebody has to wait now, milliseconds. */
  waitMs(who: Tried): Promise<number>;
  /**
   * Makes a try and counts how it ends: 401 is a failure. `refuse` is called with the milliseconds to wait where it may
   * not be made.
   */
  make<T>(who: Tried, refuse: (waitMs: number) => void, work: () => Promise<T> | T): Promise<T>;
}

const minute = 60_000;
/** Decisions 13: after 10 failures a delay of 1 minute, doubling to 15. */
const delay: DelayRule = {
  name: "login",
  tolerated: 10,
  firstMs: minute,
  mostMs: 15 * minute,
  forgetMs: 24 * 60 * minute,
};
/** What those are told to wait whom only a success of somebody else can let in again. */
const shutMs = 60 * minute;

/** Builds the counting of tries. */
export function createTries({ delays, streaks, signedInFrom }: TriesDeps): Tries {
  const delayOf = ({ address, email, delayed }: Tried) =>
    delayed ? delays.begin(delay, `${address} ${email}`) : undefined;

  async function waitMs(who: Tried): Promise<number> {
    const shut = (await streaks.full(SIGN_IN_FAILURES, who.email)) && !(await signedInFrom(who.email, who.address));
    return shut ? shutMs : ((await delayOf(who))?.waitMs ?? 0);
  }

  return {
    waitMs,
    async make(who, refuse, work) {
      const attempt = await delayOf(who);
      if (attempt !== undefined && attempt.waitMs > 0) refuse(Math.max(attempt.waitMs, await waitMs(who)));
      const charged = await streaks.charge(SIGN_IN_FAILURES, who.email);
      if (!charged && !(await signedInFrom(who.email, who.address))) refuse(shutMs);
      try {
        const answer = await work();
        await attempt?.passed();
        // The session that was opened has ended the streak; where the second factor is still to come, nothing is
        // decided.
        if (charged && asksForMore(answer)) await streaks.refund(SIGN_IN_FAILURES, who.email);
        return answer;
      } catch (error) {
        if (error instanceof ServiceError && error.status === 401) await attempt?.failed();
        else if (charged) await streaks.refund(SIGN_IN_FAILURES, who.email);
        throw error;
      }
    },
  };
}

function asksForMore(answer: unknown): boolean {
  return (answer as { mfaRequired?: unknown } | undefined)?.mfaRequired === true;
}
