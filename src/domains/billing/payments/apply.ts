import { dateOf } from "../../../platform/clock.ts";
import type { Tx } from "../../../platform/db/types.ts";
import { certain } from "../../../platform/narrow.ts";
import { bySystem, EVENTS } from "../../event-catalogue/index.ts";
import type { RaisedPlan } from "../../organizations/index.ts";
import type { BillingDeps } from "../deps.ts";
import type { ProviderName } from "../providers/index.ts";
import * as store from "./effect-store.ts";
import { INSTALL_DEPROVISIONED, leaveSubscription, ORGANIZATION_DELETED } from "./ending.ts";
import { nameCustomers, storeCustomers } from "./customer-store.ts";
import type { NamedCustomer } from "./customer-store.ts";
import type { KnownPayment, NewPayment, Purchase } from "./effect-store.ts";
import { fold } from "./fold.ts";
import type { FoldedPayment, FoldedSubscription } from "./fold.ts";
import { saidOf } from "./said-store.ts";
import type { Said } from "./said-store.ts";
import type { SubscriptionRow } from "./store.ts";

type Deps = Pick<BillingDeps, "clock" | "random" | "events" | "organizations" | "marketplace" | "log">;

/** Largest sum of the history: what its column holds. */
const MAX_SHOWN = 2_147_483_647;

const NOTHING_SAID: Said = { facts: [], customers: new Map() };

/** A purchase with its events, and its subscription before and after them. */
interface Applied {
  purchase: Purchase;
  payments: readonly FoldedPayment[];
  /** Those that grant what was bought. */
  paid: readonly FoldedPayment[];
  /** When the first of them was made, by the provider's clock. */
  paidAt: Date | undefined;
  before: SubscriptionRow | undefined;
  after: SubscriptionRow | undefined;
  /** Those that the events name, the newest last. */
  customers: readonly NamedCustomer[];
}

/** What webhooks receive of a subscription. */
const dataOf = ({ subscriptionId, plan }: SubscriptionRow) => ({ subscription_id: subscriptionId, plan: plan ?? "" });

/** Whether the end that was requested here stands: the provider has said nothing of the subscription since. */
function isEndingHere(before: SubscriptionRow | undefined, { statedAt }: FoldedSubscription): boolean {
  const requested = before?.endingRequestedAt ?? null;
  return requested !== null && (statedAt === undefined || new Date(statedAt) <= requested);
}

/** Whether a payment was made: one that is paid back was paid before. */
const wasPaid = (status: string | undefined): boolean => status === "paid" || status === "refunded";

/** What payments do: history, subscriptions, plans and installs (decisions 10.6). */
export function createApply({ clock, random, events, organizations, marketplace, log }: Deps) {
  function read(
    provider: ProviderName,
    purchase: Purchase,
    { facts, customers }: Said,
    before: SubscriptionRow | undefined,
  ): Applied {
    const { payments, subscription } = fold(facts, purchase);
    for (const payment of payments)
      if (!payment.matches && payment.status !== "failed")
        log.warn({ quote_id: purchase.quoteId, payment_id: payment.id }, "A payment is not of the quoted sum");
    const paid = payments.filter(({ matches, status }) => matches && status !== "failed");
    const dateOrNull = (time: string | undefined): Date | null => (time === undefined ? null : new Date(time));
    const paidAt = paid.length === 0 ? undefined : new Date(Math.min(...paid.map(({ at }) => Date.parse(at))));
    const isEnding = subscription !== undefined && isEndingHere(before, subscription);
    const after = subscription && {
      subscriptionId: before?.subscriptionId ?? random.uuid(),
      provider,
      externalId: subscription.id,
      priceId: purchase.priceId,
      plan: purchase.plan,
      installId: purchase.installId,
      seats: purchase.seats,
      // One that the provider did not know when its end was requested is canceled already.
      status: isEnding && before?.status === "canceled" ? before.status : subscription.status,
      currentPeriodStart: dateOrNull(subscription.periodStart),
      currentPeriodEnd: dateOrNull(subscription.periodEnd),
      cancelAtPeriodEnd: subscription.cancelAtPeriodEnd || isEnding,
      endingRequestedAt: before?.endingRequestedAt ?? null,
      createdAt: certain(paidAt, "time of the payment that began a subscription"),
    };
    const { orgUuid } = purchase;
    const named = [...customers].map(([customerId, at]) => ({ orgUuid, customerId, at }));
    return { purchase, payments, paid, paidAt, before, after: after ?? before, customers: named };
  }

  /** Sends the webhooks of payments that were made or have failed, and were not known to be. */
  async function announcePayments(tx: Tx, all: readonly NewPayment[], known: ReadonlyMap<string, KnownPayment>) {
    const changed = all.filter(({ payment: { id, status } }) => {
      const before = known.get(id)?.status;
      return wasPaid(status) ? !wasPaid(before) : status !== before;
    });
    for (const [isPaid, group] of Map.groupBy(changed, ({ payment }) => wasPaid(payment.status))) {
      const invoice = EVENTS[isPaid ? "invoice.paid" : "invoice.payment_failed"];
      const each = group.map(({ payment: { id }, purchase: { orgUuid } }) => ({ orgUuid, data: { invoice_id: id } }));
      await events.notifyEach(tx, invoice, each);
    }
  }

  async function announceSubscription(tx: Tx, { purchase: { orgUuid }, before, after }: Applied): Promise<void> {
    if (after === undefined || before?.status === after.status) return;
    const name =
      after.status === "canceled" ? "canceled" : before === undefined ? ("created" as const) : ("changed" as const);
    const data = name === "changed" ? undefined : dataOf(after);
    await events.emit(tx, EVENTS[`subscription.${name}`], {
      by: bySystem,
      orgUuid,
      resourceId: after.subscriptionId,
      metadata: { plan: after.plan, status: after.status, provider: after.provider },
      data,
    });
  }

  /** Records and sends that a subscription which began has raised the plan of its organization from a paid one. */
  async function announceUpgrades(tx: Tx, all: readonly Applied[], raised: readonly RaisedPlan[]): Promise<void> {
    for (const { orgUuid, plan, before: previous } of raised) {
      const began = all.find(
        ({ purchase, before, after }) => purchase.orgUuid === orgUuid && before === undefined && after?.plan === plan,
      );
      if (began?.after === undefined) continue;
      await events.emit(tx, EVENTS["subscription.changed"], {
        by: bySystem,
        orgUuid,
        resourceId: began.after.subscriptionId,
        metadata: { plan, previous_plan: previous, status: began.after.status },
        data: dataOf(began.after),
      });
    }
  }

  /** Notes until when the locked install of a purchase is paid, by all its purchases. */
  async function payInstall(tx: Tx, { purchase: { installId }, paid }: Applied): Promise<void> {
    if (installId === null || paid.length === 0) return;
    const longest = await store.paidUntil(tx, installId);
    if (longest === undefined) return;
    await marketplace.installs.paid(tx, installId, longest.provider, longest.until, dateOf(clock));
  }

  const lockAll = (tx: Tx, orgUuids: readonly string[]): Promise<ReadonlySet<string>> =>
    orgUuids.length === 0 ? Promise.resolve(new Set()) : organizations.lockAll(tx, orgUuids);

  /** A subscription that began, or was resumed, after what it is for had ended, ends as the others did. */
  const leave = (tx: Tx, orgUuid: string, { subscriptionId }: SubscriptionRow, reason: string): Promise<void> =>
    leaveSubscription(tx, { org_uuid: orgUuid, subscription_id: subscriptionId, by: bySystem, reason });

  return {
    /**
     * Brings everything that purchases touch to what their events say. The quotes are locked meanwhile. What is sent
     * together runs in the order in which it is sent.
     */
    async apply(tx: Tx, provider: ProviderName, quoteIds: readonly string[]): Promise<void> {
      // The lock comes first, so that the others read what it waited for.
      const [purchases, said, subscriptions, known] = await Promise.all([
        store.lockPurchases(tx, quoteIds),
        saidOf(tx, quoteIds),
        store.subscriptionsOfQuotes(tx, quoteIds),
        store.knownPayments(tx, quoteIds),
      ]);
      const all = purchases.map((purchase) => {
        const { quoteId } = purchase;
        return read(provider, purchase, said.get(quoteId) ?? NOTHING_SAID, subscriptions.get(quoteId));
      });
      const payments = all.flatMap(({ purchase, payments: folded, paid, after }) =>
        folded
          // No quote has such a sum: it is listed as unmatched, and the history could not show it.
          .filter(({ amount }) => amount <= MAX_SHOWN)
          .map((payment) => {
            const isFirst = payment.id === (paid[0] ?? folded[0])?.id;
            return { payment, purchase, subscriptionId: after?.subscriptionId ?? null, isFirst };
          }),
      );
      const bought = all.flatMap(({ purchase, after }) => (after === undefined ? [] : [{ purchase, row: after }]));
      const orgsOf = (some: readonly Applied[]) => [...new Set(some.map(({ purchase: { orgUuid } }) => orgUuid))];
      const orgUuids = orgsOf(all.filter(({ purchase }) => purchase.plan !== null));
      const renewing = all.filter(({ after }) => after?.status !== "canceled" && after?.cancelAtPeriodEnd === false);
      // Locked before the plans are read: payments of several purchases end with the plan of the newest. An
      // organization whose subscription renews is either locked before it is deleted, or known to be deleted.
      const locking = lockAll(tx, [...new Set([...orgUuids, ...orgsOf(renewing)])]);
      store.putSubscriptions(tx, bought);
      store.putPayments(tx, provider, payments, known, dateOf(clock));
      const consumed = all.flatMap(({ purchase: { quoteId, consumedAt }, paidAt }) =>
        paidAt === undefined || paidAt.getTime() === consumedAt?.getTime() ? [] : [{ quoteId, at: paidAt }],
      );
      store.consumeQuotes(tx, consumed);
      const named = all.flatMap(({ customers }) => customers);
      const paying = all.flatMap(({ paid, customers }) => (paid.length === 0 ? [] : customers.slice(-1)));
      nameCustomers(tx, provider, named);
      // At Paddle whoever types an email pays as its customer: the organization's is made for its checkout.
      if (provider === "stripe") storeCustomers(tx, provider, paying);
      const [living] = await Promise.all([locking, announcePayments(tx, payments, known)]);
      const raised =
        orgUuids.length === 0
          ? []
          : await organizations.setPaidPlans(tx, await store.paidPlans(tx, orgUuids), dateOf(clock));
      const installIds = all.flatMap(({ purchase: { installId } }) => installId ?? []);
      const ended = installIds.length === 0 ? new Set() : await marketplace.installs.lockEnded(tx, installIds);
      for (const applied of all) {
        await announceSubscription(tx, applied);
        await payInstall(tx, applied);
      }
      await announceUpgrades(tx, all, raised);
      for (const { purchase, after } of renewing)
        if (after !== undefined && !living.has(purchase.orgUuid))
          await leave(tx, purchase.orgUuid, after, ORGANIZATION_DELETED);
        else if (after !== undefined && ended.has(purchase.installId ?? ""))
          await leave(tx, purchase.orgUuid, after, INSTALL_DEPROVISIONED);
    },
  };
}

/** What payments do. */
export type Apply = ReturnType<typeof createApply>;
