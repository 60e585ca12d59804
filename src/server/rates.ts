import { limitKey } from "../platform/outgoing/address.ts";
import { RateClass } from "../../gen/atrium/options/v1/options_pb.ts";
import { parseEmail } from "../platform/email.ts";
import { demandNoWait, MAILS_PER_EMAIL } from "../platform/limits/index.ts";
import type { Attempt, SignInAttempts } from "../platform/limits/index.ts";
import type { Message } from "@bufbuild/protobuf";
import type { Call } from "./call.ts";
import { textOf } from "./policy.ts";
import type { Policy } from "./policy.ts";

/** A budget of `limit` calls in `windowMs`: a sliding window when `sliding`, else a token bucket. */
export interface Budget {
  name: string;
  limit: number;
  windowMs: number;
  sliding: boolean;
}

/** Counts calls across all instances. */
export interface RateLimiter {
  /** Takes one call from the budget of `subject`; returns 0, or the milliseconds until the next one is free. */
  take(budget: Budget, subject: string): number | Promise<number>;
}

/** Rate limits of decisions 13, by the class an rpc declares. */
export interface Rates {
  /** Whether an rpc has a budget that does not depend on the message. */
  hasGeneral(policy: Policy): boolean;
  /** Counts a call against that budget. */
  general(policy: Policy, call: Call): void | Promise<void>;
  /** Counts a valid message against the budgets of its rate class. */
  valid(policy: Policy, call: Call, message: Message): void | Promise<void>;
  /** Runs a valid attempt. Where failures delay the next attempt, a 401 counts as one. */
  attempt<T>(policy: Policy, call: Call, message: Message, work: () => Promise<T> | T): Promise<T> | T;
}

const MINUTE_MS = 60_000;
const bucket = (name: string, limit: number, windowMs: number, sliding = false): Budget => ({
  name,
  limit,
  windowMs,
  sliding,
});

const general = bucket("general", 600, MINUTE_MS);
const byPrincipal: Partial<Record<RateClass, Budget>> = {
  [RateClass.UNSPECIFIED]: general,
  [RateClass.CODE]: general,
  [RateClass.ORG_CHECK]: bucket("org_check", 30, MINUTE_MS),
  [RateClass.SCIM]: bucket("scim", 600, MINUTE_MS),
  [RateClass.VAULT_READ]: bucket("vault_read", 600, MINUTE_MS),
  [RateClass.VAULT_WRITE]: bucket("vault_write", 60, MINUTE_MS),
  [RateClass.AUDIT]: bucket("audit", 60, MINUTE_MS, true),
};
const byMessage: Partial<
  Record<RateClass, readonly (readonly [Budget, (address: string, email: string) => string])[]>
> = {
  [RateClass.LOGIN]: [
    // The address first: a sender without budget must not use up the budgets of other people's emails.
    [bucket("login_address", 60, MINUTE_MS), (address) => address],
    [bucket("login", 10, MINUTE_MS), (address, email) => `${address} ${email}`],
  ],
  [RateClass.MAIL]: [
    [bucket("mail_address", 20, 60 * MINUTE_MS), (address) => address],
    [MAILS_PER_EMAIL, (_address, email) => email],
  ],
  [RateClass.SIGNUP]: [[bucket("signup", 10, 60 * MINUTE_MS), (address) => address]],
  [RateClass.INVITE]: [[bucket("invite", 10, MINUTE_MS), (address) => address]],
};

/**
 * Creates the rate limits. With `on` false only the limit that interface.md states applies; without `signInAttempts`
 * failed attempts have no consequence.
 */
export function createRates(limiter: RateLimiter, on: boolean, signInAttempts?: SignInAttempts): Rates {
  const attemptsOf = ({ rate }: Policy): SignInAttempts | undefined =>
    on && (rate === RateClass.LOGIN || rate === RateClass.CODE) ? signInAttempts : undefined;
  const generalOf = ({ rate }: Policy): Budget | undefined =>
    on || rate === RateClass.AUDIT ? byPrincipal[rate] : undefined;
  return {
    hasGeneral: (policy) => generalOf(policy) !== undefined,
    general(policy, call) {
      const budget = generalOf(policy);
      return budget === undefined ? undefined : refuseWhileWaiting(limiter.take(budget, subjectOf(policy, call)));
    },
    async valid(policy, call, message) {
      const budgets = on ? byMessage[policy.rate] : undefined;
      if (budgets === undefined) return;
      const attempt = attemptOf(policy, call, message);
      for (const [budget, key] of budgets) {
        const wait = await limiter.take(budget, key(attempt.address, attempt.email));
        // With several waits, `Retry-After` is the longest.
        if (wait > 0) demandNoWait(Math.max(wait, (await attemptsOf(policy)?.waitMs(attempt)) ?? 0));
      }
    },
    attempt(policy, call, message, work) {
      const attempts = attemptsOf(policy);
      return attempts === undefined ? work() : attempts.run(attemptOf(policy, call, message), work);
    },
  };
}

/** Returns who makes an attempt: the address, and the email in the form in which mailboxes are compared. */
function attemptOf({ rate }: Policy, call: Call, message: Message): Attempt {
  const email = textOf(message, "email");
  const delayed = rate === RateClass.LOGIN;
  return { address: limitKey(call.info.address), email: parseEmail(email)?.key ?? email.trim().toLowerCase(), delayed };
}

function refuseWhileWaiting(waitMs: number | Promise<number>): void | Promise<void> {
  return typeof waitMs === "number" ? demandNoWait(waitMs) : waitMs.then(demandNoWait);
}

function subjectOf(policy: Policy, call: Call): string {
  if (call.caller === undefined || policy.rate === RateClass.ORG_CHECK) return limitKey(call.info.address);
  return call.caller.countsAs ?? `${call.caller.principal.type}:${call.caller.principal.id}`;
}
