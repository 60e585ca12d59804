import { limitKey } from "../platform/outgoing/address.ts";
import { RateClass } from "../../gen/atrium/options/v1/options_pb.ts";
import { parseEmail } from "../platform/email.ts";
import { errors } from "../platform/errors.ts";
import { MAILS_PER_EMAIL } from "../platform/limits/index.ts";
import type { Message } from "@bufbuild/protobuf";
import type { Call } from "./call.ts";
import { textOf } from "./policy.ts";
import type { Policy } from "./policy.ts";
import type { Tried, Tries } from "./tries.ts";

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
const bucket = (name: string, limit: number, windowMs: number, sliding = false): Budget => ({
  name,
  limit,
  windowMs,
  sliding,
});

const general = bucket("general", 600, minute);
const byPrincipal: Partial<Record<RateClass, Budget>> = {
  [RateClass.UNSPECIFIED]: general,
  [RateClass.CODE]: general,
  [RateClass.ORG_CHECK]: bucket("org_check", 30, minute),
  [RateClass.SCIM]: bucket("scim", 600, minute),
  [RateClass.VAULT_READ]: bucket("vault_read", 600, minute),
  [RateClass.VAULT_WRITE]: bucket("vault_write", 60, minute),
  [RateClass.AUDIT]: bucket("audit", 60, minute, true),
};
const byMessage: Partial<
  Record<RateClass, readonly (readonly [Budget, (address: string, email: string) => string])[]>
> = {
  [RateClass.LOGIN]: [
    // The sender's first: one who has used it up must not go on to use up those of others.
    [bucket("login_address", 60, minute), (address) => address],
    [bucket("login", 10, minute), (address, email) => `${address} ${email}`],
  ],
  [RateClass.MAIL]: [
    [bucket("mail_address", 20, 60 * minute), (address) => address],
    [MAILS_PER_EMAIL, (_address, email) => email],
  ],
  [RateClass.SIGNUP]: [[bucket("signup", 10, 60 * minute), (address) => address]],
  [RateClass.INVITE]: [[bucket("invite", 10, minute), (address) => address]],
};

/**
 * Builds the limits; with `on` false only the one that interface.md states is kept. Without `tries` failures have no
 * consequence.
 */
export function createRates(limiter: RateLimiter, on: boolean, tries?: Tries): Rates {
  const triesOf = (policy: Policy): Tries | undefined =>
    on && (policy.rate === RateClass.LOGIN || policy.rate === RateClass.CODE) ? tries : undefined;
  return {
    general(policy, call) {
      const budget = byPrincipal[policy.rate];
      if (budget === undefined || (!on && policy.rate !== RateClass.AUDIT)) return undefined;
      return judge(limiter.take(budget, subjectOf(policy, call)));
    },
    async valid(policy, call, message) {
      const budgets = on ? byMessage[policy.rate] : undefined;
      if (budgets === undefined) return;
      const who = triedBy(policy, call, message);
      for (const [budget, key] of budgets) {
        const wait = await limiter.take(budget, key(who.address, who.email));
        // Whoever must wait for several is told of the longest wait.
        if (wait > 0) refuse(Math.max(wait, (await triesOf(policy)?.waitMs(who)) ?? 0));
      }
    },
    attempt(policy, call, message, work) {
      const counted = triesOf(policy);
      return counted === undefined ? work() : counted.make(triedBy(policy, call, message), refuse, work);
    },
  };
}

/** Whose try it is: address and email, the latter as mailboxes are compared, however it is written. */
function triedBy({ rate }: Policy, call: Call, message: Message): Tried {
  const email = textOf(message, "email");
  const delayed = rate === RateClass.LOGIN;
  return { address: limitKey(call.info.address), email: parseEmail(email)?.key ?? email.trim().toLowerCase(), delayed };
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
  return call.caller.countsAs ?? `${call.caller.principal.type}:${call.caller.principal.id}`;
}
