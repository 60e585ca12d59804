import { randomBytes } from "node:crypto";

/** Names of the providers that the development payment server speaks for. */
export type Provider = "stripe" | "paddle";

/** A checkout that a person can pay. Amounts are units of the provider's. */
export interface Checkout {
  id: string;
  provider: Provider;
  /** Who pays; null for a customer that is made with the payment. */
  customer: string | null;
  /** Whether a payment makes a customer that the provider names; at Stripe one of a single payment may not. */
  makesCustomer: boolean;
  items: readonly { name: string; amount: number; quantity: number }[];
  /** ISO 4217, lower case. */
  currency: string;
  /** Null for a single payment. */
  interval: "month" | "year" | null;
  successUrl: string | null;
  cancelUrl: string | null;
  /** Seconds since the epoch; null: never. */
  expiresAt: number | null;
  status: "open" | "paid" | "left";
}

/** What is paid again each period. Times are seconds since the epoch. */
export interface Subscription {
  id: string;
  customer: string;
  checkout: Checkout;
  status: "active" | "past_due" | "canceled";
  isEnding: boolean;
  start: number;
  end: number;
}

/** A payment, as the portal lists it. */
export interface Payment {
  /** The invoice, the session or the transaction that is paid. */
  id: string;
  provider: Provider;
  customer: string;
  total: number;
  currency: string;
  at: number;
  paid: boolean;
  /** Stripe's payment intent and charge, which a refund names. */
  intent: string;
  charge: string;
  refunds: Refund[];
}

/** What was paid back. */
export interface Refund {
  id: string;
  amount: number;
  /** Whether the money came back. */
  failed: boolean;
}

/** An event as the provider sends and lists it. */
export interface SentEvent {
  id: string;
  provider: Provider;
  type: string;
  /** Seconds since the epoch. */
  at: number;
  body: Record<string, unknown>;
}

const CHARACTERS = "0123456789abcdefghjkmnpqrstvwxyz";

/** An id in the form of the provider's. */
export const newId = (prefix: string): string =>
  `${prefix}_${[...randomBytes(26)].map((byte) => CHARACTERS[byte % CHARACTERS.length]).join("")}`;

/** What all items of a checkout cost. */
export const totalOf = ({ items }: Checkout): number =>
  items.reduce((total, { amount, quantity }) => total + amount * quantity, 0);

/** What was paid back of a payment. */
export const refundedOf = ({ refunds }: Payment): number =>
  refunds.reduce((sum, { amount, failed }) => sum + (failed ? 0 : amount), 0);

/** The end of a period that begins at a time, both in seconds since the epoch. */
export function periodEnd(start: number, interval: "month" | "year"): number {
  const at = new Date(start * 1000);
  const [years, months] = interval === "year" ? [1, 0] : [0, 1];
  at.setUTCFullYear(at.getUTCFullYear() + years, at.getUTCMonth() + months);
  return at.getTime() / 1000;
}

/** All that the development payment server knows; it forgets with the process. */
export function createLedger() {
  return {
    checkouts: new Map<string, Checkout>(),
    customers: new Set<string>(),
    /** Paddle's customers by their emails, each of which has one, with the organization they were made for. */
    addresses: new Map<string, { id: string; organization: string | undefined }>(),
    /** Payment methods by customer. */
    methods: new Map<string, Set<string>>(),
    subscriptions: new Map<string, Subscription>(),
    payments: new Array<Payment>(),
    /** Oldest first. */
    events: new Array<SentEvent>(),
    portals: new Map<string, { provider: Provider; customer: string; returnUrl: string | null }>(),
    /** Stripe's answers by Idempotency-Key, with the request that had it. */
    answered: new Map<string, { request: string; status: number; body: object }>(),
  };
}

/** What the server knows. */
export type Ledger = ReturnType<typeof createLedger>;
