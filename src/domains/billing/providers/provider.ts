import type { ErrorRow } from "../../../platform/errors.ts";

/** Names of the payment providers (decisions 10.1). */
export type ProviderName = "stripe" | "paddle";
/** Every provider; the first is the default where both are configured. */
export const PROVIDER_NAMES: readonly ProviderName[] = ["stripe", "paddle"];

/** What is to be paid. */
export interface Order {
  quoteId: string;
  /** Names this attempt: calls with one key have one effect, where the provider can tell. */
  key: string;
  /** The organization's customer at the provider; undefined where none is known. */
  customer: string | undefined;
  description: string;
  /** ISO 4217, lower case. */
  currency: string;
  /** Minor units of ISO 4217, as `tax` too. */
  unitAmount: number;
  seats: number;
  tax: number;
  /** `once` for a single payment. */
  interval: "month" | "year" | "once";
  successUrl: string;
  cancelUrl: string;
  expiresAt: Date;
}

/** What an event says, in terms that all providers share. Amounts are minor units of ISO 4217. */
export type Fact =
  | {
      kind: "payment";
      /** The provider's id of what was paid: an invoice, a session or a transaction. */
      id: string;
      /** Other ids of the same payment, by which a refund may name it. */
      aliases?: readonly string[] | undefined;
      status: "paid" | "failed";
      /** What was due: the sum that is compared with the quote. */
      amount: number;
      /** What was collected, where the customer's credit settled a part of it; otherwise all of `amount`. */
      collected?: number | undefined;
      currency: string;
      subscription?: string | undefined;
      invoiceId?: string | undefined;
      invoiceUrl?: string | undefined;
      periodStart?: string | undefined;
      periodEnd?: string | undefined;
      description?: string | undefined;
    }
  | {
      kind: "alias";
      /** The provider's id of a payment, and other ids of it, as in a fact of the payment itself. */
      payment: string;
      aliases: readonly string[];
    }
  | {
      kind: "refund";
      /** Ids of the payment, of which one is known. */
      ids: readonly string[];
      /** Id of the object of which `amount` is the total so far; absent in facts of older events. */
      total?: string | undefined;
      amount: number;
      /** Absent in facts of older events. */
      currency?: string | undefined;
      /** Id of a refund that failed after it was counted: `amount` is its sum, and is taken off the total. */
      failed?: string | undefined;
    }
  | {
      kind: "subscription";
      id: string;
      status: "active" | "past_due" | "canceled";
      cancelAtPeriodEnd: boolean;
      periodStart?: string | undefined;
      periodEnd?: string | undefined;
    };

/** What the object of an event says. */
export interface EventFacts {
  /** Ids of the provider that belong to one purchase: session, subscription, invoice, payment, transaction. */
  readonly ids: readonly string[];
  /** Empty for an event that says nothing about payments. */
  readonly facts: readonly Fact[];
  /** The provider's id of who pays. */
  readonly customer?: string | undefined;
}

/** Nothing about payments. */
export const NO_FACTS: EventFacts = { ids: [], facts: [] };

/** An event of a provider, verified. */
export interface ProviderEvent extends EventFacts {
  eventId: string;
  type: string;
  occurredAt: Date;
}

/** Events as a provider lists them, with their bodies as they would have come. */
export interface EventPage {
  events: readonly { event: ProviderEvent; body: string }[];
  /** Where the next page begins; null after the last one. */
  next: string | null;
}

/** A stored payment method at the provider. */
export interface StoredMethod {
  externalId: string;
  brand: string;
  last4: string;
  expMonth: number;
  expYear: number;
}

/** The provider has refused a payment method. */
export class MethodDeclined extends Error {}

/** The provider cannot charge a sum, or not in its currency. */
export class UnsupportedSum extends Error {}

/** The provider does not know a customer, or not any more. */
export class UnknownCustomer extends Error {}

/** The provider does not know a subscription, or not any more. */
export class UnknownSubscription extends Error {}

/** Whether a checkout ends by itself; one of Paddle can be paid until it is closed. */
export const endsByItself = (provider: string): boolean => provider === "stripe";

/** A payment provider. A call that fails throws; the caller turns that into `provider_error`. */
export interface PaymentProvider {
  readonly name: ProviderName;
  /**
   * Opens a checkout.
   * @throws UnsupportedSum when the provider cannot charge what is to be paid
   * @throws UnknownCustomer when there is no such customer any more; Stripe makes a new one instead
   */
  openCheckout(order: Order): Promise<{ id: string; url: string | null }>;
  /** Makes a checkout that nobody has paid one that nobody can pay; one that is paid or unknown is no error. */
  closeCheckout(externalId: string): Promise<void>;
  /**
   * The customer of an organization, made before its first checkout where others could pay as it otherwise. Undefined
   * where the payment makes one that nobody else can name, and where the address is another customer's.
   * @param email an address that was confirmed
   */
  customerFor(orgUuid: string, email: string): Promise<string | undefined>;
  /**
   * Ends a subscription with its paid period.
   * @throws UnknownSubscription when there is no such subscription any more
   */
  cancelSubscription(externalId: string): Promise<void>;
  /**
   * A customer for a person in an organization.
   * @throws MethodDeclined when there cannot be one with a payment method
   */
  createCustomer(email: string | null, key: string): Promise<string>;
  /**
   * Attaches a payment method to a customer.
   * @throws MethodDeclined when it is declined or unknown
   * @throws UnknownCustomer when there is no such customer any more, where the provider can tell
   */
  attachMethod(customerId: string, token: string): Promise<StoredMethod>;
  /** Detaches a payment method; one that is gone already is no error. */
  detachMethod(customerId: string, externalId: string): Promise<void>;
  /**
   * Opens a session of the customer portal.
   * @throws UnknownCustomer when there is no such customer any more
   */
  openPortal(customerId: string, returnUrl: string): Promise<string>;
  /**
   * A page of the events of a period that may say something about payments, in an order of the provider's.
   * @param position where the page begins, as the page before it returned; null at the first
   */
  listEvents(from: Date, to: Date, position: string | null): Promise<EventPage>;
  /**
   * What says which payments a refund with these ids is of, as events of the provider; none where its own event says
   * it.
   */
  listPaymentsOf(ids: readonly string[]): Promise<EventPage["events"]>;
  /**
   * Verifies and reads an event; undefined when the signature, its time or the body is not right.
   * @param header value of the provider's signature header
   */
  readEvent(body: Buffer, header: string | null, nowMs: number): ProviderEvent | undefined;
  /** Name of the signature header. */
  readonly signatureHeader: string;
}

/** Tolerance of signature times, either way, seconds (decisions 10.1). */
export const TOLERANCE_S = 300;

/** Errors of payments (decisions 1.6). */
export const PROVIDER_ERRORS = {
  unknown: [404, "provider_unknown", "There is no such payment provider; use stripe or paddle."],
  notConfigured: [503, "provider_not_configured", "This payment provider is not configured in this installation."],
  failed: [502, "provider_error", "The payment provider did not do this; try again later."],
  refused: [
    502,
    "provider_error",
    "The payment provider refused this, and would again; ask the operator, whose log says why.",
  ],
  signatureInvalid: [400, "signature_invalid", "The signature is missing or wrong, or its time is off."],
} as const satisfies Record<string, ErrorRow>;
