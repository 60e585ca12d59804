import { limitKey } from "../platform/outgoing/address.ts";
import { RateClass } from "../../gen/atrium/options/v1/options_pb.ts";
import { parseEmail } from "../platform/email.ts";
import { errors, ServiceError } from "../platform/errors.ts";
import type { DelayRule, Delays } from "../platform/limits/index.ts";
import type { Message } from "@bufbuild/protobuf";
import type { Call } from "./call.ts";
import { textOf } from "./policy.ts";
import type { Policy } from "./policy.ts";

/** One budget: `limit` calls in `windowMs`; `sliding` counts the calls of any window, else it is a token bucket. */
export interface Budget {
  name: string;
  limit: number;
  windowMs: number;
  sliding: boolean;
}

/** Counts calls for all instances together. */
export interface RateLimiter {
  /** Takes one from the budget of `subject`: 0, or the milliseconds until the next is free. */
  take(budget: Budget, subject: string): number | Promise<number>;
  /** Delays that grow with consecutive failures; without them there are none. */
  delays?: Delays | undefined;
}

/** Rate limits of decisions 13, by the class an rpc declares. */
export interface Rates {
  /** Budgets that need nothing of the message. */
  general(policy: Policy, call: Call): void | Promise<void>;
  /** Budgets that count valid tries; after the message was found valid. */
  valid(policy: Policy, call: Call, message: Message): void | Promise<void>;
  /** Makes a valid try; where failures delay the next one, counts how it ends: 401 is a failure. */
  attempt<T>(policy: Policy, call: Call, message: Message, work: () => Promise<T> | T): Promise<T> | T;
}

const minute = 60_000;
const bucket = (name: string, limit: number, windowMs: number, sliding = false): Budget => ({ name, limit, windowMs, sliding });

const general = bucket("general", 600, minute);
const byPrincipal: Partial<Record<RateClass, Budget>> = {
  [RateClass.UNSPECIFIED]: general,
  [RateClass.ORG_CHECK]: bucket("org_check", 30, minute),
  [RateClass.SCIM]: bucket("scim", 600, minute),
  [RateClass.VAULT_READ]: bucket("vault_read", 600, minute),
  [RateClass.VAULT_WRITE]: bucket("vault_write", 60, minute),
  [RateClass.AUDIT]: bucket("audit", 60, minute, true),
};
const byMessage: Partial<Record<RateClass, readonly (readonly [Budget, (address: string, email: string) => string])[]>> = {
  [RateClass.LOGIN]: [[bucket("login", 10, minute), (address, email) => `${address} ${email}`]],
  [RateClass.MAIL]: [
    // The sender's first: one who has used it up must not go on to use up those of others.
    [bucket("mail_address", 20, 60 * minute), (address) => address],
    [bucket("mail_email", 3, 10 * minute), (_address, email) => email],
  ],
  [RateClass.SIGNUP]: [[bucket("signup", 10, 60 * minute), (address) => address]],
  [RateClass.INVITE]: [[bucket("invite", 10, minute), (address) => address]],
};

/** Decisions 13: after 10 failures a delay of 1 minute, doubling to 15. */
const loginDelay: DelayRule = { name: "login", tolerated: 10, firstMs: minute, mostMs: 15 * minute, forgetMs: 24 * 60 * minute };

/** Builds the limits; with `on` false only the one that interface.md states is kept. */
export function createRates(limiter: RateLimiter, on: boolean): Rates {
  const delaysOf = (policy: Policy): Delays | undefined => (on && policy.rate === RateClass.LOGIN ? limiter.delays : undefined);
  return {
    general(policy, call) {
      const budget = byPrincipal[policy.rate];
      if (budget === undefined || (!on && policy.rate !== RateClass.AUDIT)) return undefined;
      return judge(limiter.take(budget, subjectOf(policy, call)));
    },
    async valid(policy, call, message) {
      const budgets = on ? byMessage[policy.rate] : undefined;
      if (budgets === undefined) return;
      const [address, email] = triedBy(call, message);
      for (const [budget, key] of budgets) {
        const wait = await limiter.take(budget, key(address, email));
        // Whoever must wait for both is told of the longer wait.
        if (wait > 0) refuse(Math.max(wait, (await delaysOf(policy)?.begin(loginDelay, `${address} ${email}`))?.waitMs ?? 0));
      }
    },
    attempt(policy, call, message, work) {
      const delays = delaysOf(policy);
      return delays === undefined ? work() : delayed(delays, triedBy(call, message).join(" "), work);
    },
  };
}

async function delayed<T>(delays: Delays, subject: string, work: () => Promise<T> | T): Promise<T> {
  const attempt = await delays.begin(loginDelay, subject);
  refuse(attempt.waitMs);
  try {
    const answer = await work();
    await attempt.passed();
    return answer;
  } catch (error) {
    if (error instanceof ServiceError && error.status === 401) await attempt.failed();
    throw error;
  }
}

/** Whose try it is: address and email, the latter as mailboxes are compared, however it is written. */
function triedBy(call: Call, message: Message): [address: string, email: string] {
  const email = textOf(message, "email");
  return [limitKey(call.info.address), parseEmail(email)?.key ?? email.trim().toLowerCase()];
}

function judge(wait: number | Promise<number>): void | Promise<void> {
  if (typeof wait !== "number") return wait.then(refuse);
  return refuse(wait);
}

function refuse(waitMs: number): void {
  if (waitMs > 0) throw errors.rateLimited({ retryAfter: waitMs / 1000 });
}

function subjectOf(policy: Policy, call: Call): string {
  if (call.caller === undefined || policy.rate === RateClass.ORG_CHECK) return limitKey(call.info.address);
  return `${call.caller.principal.type}:${call.caller.principal.id}`;
}
