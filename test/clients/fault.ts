import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "../support/random-of.ts";

/** What may happen to one request; `none` besides. */
export const FAULTS = [
  "drop-request",
  "drop-answer",
  "delay",
  "truncate",
  "close-stream",
  "duplicate",
  "429",
  "503",
] as const;
export type Fault = (typeof FAULTS)[number] | "none";

/** Values of `Retry-After` that a client may meet. */
const RETRY_AFTER = ["0", "1", "", "-1", "soon", "1.5", "99999999999999", "Thu, 01 Jan 1970 00:00:00 GMT"];
const LONGEST_DELAY_MS = 300;

/** A server between a client and the service, which does to each request what it is told. */
export interface FaultProxy {
  url: string;
  /** Called for each request with the rpc's name. */
  next: (rpc: string) => Fault;
  close(): Promise<void>;
}

/** A request at a proxy, and what its protocol can do to it. */
interface Exchange<A> {
  drop(): void;
  /** Answers in place of the service. */
  refuse(status: 429 | 503, retryAfter: string): void;
  forward(): Promise<A>;
  /** Passes an answer on: whole, or broken by `truncate` or `close-stream`. */
  respond(answer: A, fault: Fault): void;
}

/** Does to a request what a fault says. */
export async function undergo<A>(fault: Fault, random: Random, exchange: Exchange<A>): Promise<void> {
  if (fault === "drop-request") return exchange.drop();
  if (fault === "429" || fault === "503") return exchange.refuse(fault === "429" ? 429 : 503, random.pick(RETRY_AFTER));
  if (fault === "delay") await sleep(random.next() * LONGEST_DELAY_MS);
  const others = fault === "duplicate" ? [exchange.forward()] : [];
  const [answer] = await Promise.all([exchange.forward(), ...others]);
  if (fault === "drop-answer") exchange.drop();
  else exchange.respond(answer, fault);
}

/** A beginning of a body, perhaps none of it. */
export const partOf = (body: Buffer, random: Random): Buffer => body.subarray(0, random.below(body.length));
