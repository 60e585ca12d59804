import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { BillingService } from "../../../gen/atrium/billing/v1/billing_pb.ts";
import type { RegionPrice } from "../../../gen/atrium/billing/v1/pricing_pb.ts";
import type { RequestContexts } from "../../platform/context.ts";
import { printCard, printCheckout, printPayment, printSubscription, printUnmatched } from "./print.ts";
import { pageOf } from "../../platform/db/paging.ts";
import type { Billing } from "./billing.ts";
import { reportedEvents } from "./meters/reported.ts";
import type { Aggregation, MeterRow } from "./meters/store.ts";
import type { PriceInRegion } from "./prices/choice.ts";
import type { PriceRow } from "./prices/store.ts";
import type { QuoteRow } from "./quotes/store.ts";

/** `atrium.billing.v1.BillingService`. */
export function billingRpc(
  { plans, prices, quotes, checkout, portal, inbox, reconciliations, account, cards, meters }: Billing,
  contexts: RequestContexts,
  workflowPrefix: string,
): ServiceImpl<typeof BillingService> {
  return {
    listPlans: async () => ({ data: await plans.list() }),
    setPlan: ({ plan, name, features }, call) => plans.set(contexts.authenticated(call), { plan, name, features }),

    listPrices: async (request) => {
      const page = pageOf(request);
      const { rows, ...total } = await prices.list(request, page);
      return { data: rows.map(printPrice), ...total, ...page };
    },
    createPrice: async ({ product, plan, interval, currency, unitAmountCents = 0, taxPercent, regions }, call) =>
      printPrice(
        await prices.create(contexts.authenticated(call), {
          product,
          plan: plan || null,
          interval,
          currency,
          unitAmountCents,
          taxPercent: decimalOf(taxPercent),
          regions: regions.map(readRegion),
        }),
      ),
    deactivatePrice: async ({ priceId }, call) => {
      await prices.deactivate(contexts.authenticated(call), priceId);
      return {};
    },
    previewPrice: async ({ priceId = 0, region, country, ipAddress, currency, seats = 1 }) => {
      const place = country || region || undefined;
      const address = ipAddress || undefined;
      const { priced, formatted } = await prices.preview({
        priceId,
        region: place,
        address,
        currency: currency || undefined,
        seats,
      });
      return {
        priceId,
        region: priced.region,
        currency: priced.currency,
        unitAmountCents: priced.unitAmountCents,
        seats,
        subtotalCents: priced.subtotal,
        taxCents: priced.tax,
        totalCents: priced.total,
        formatted,
      };
    },

    createQuote: async ({ priceId, installId, seats, currency }, call) => {
      const { quote, token } = await quotes.create(contexts.authenticated(call), {
        priceId,
        installId: installId?.toLowerCase() || undefined,
        seats,
        currency: currency || undefined,
      });
      return printQuote(quote, token);
    },

    createCheckoutSession: async ({ quoteId, provider, successUrl, cancelUrl }, call) =>
      printCheckout(
        await checkout.create(contexts.authenticated(call), {
          quoteId: quoteId.toLowerCase(),
          provider: provider || undefined,
          successUrl: successUrl || undefined,
          cancelUrl: cancelUrl || undefined,
        }),
      ),
    receiveProviderEvent: async ({ provider, body }, call) => {
      await inbox.receive(contexts.public(call), provider, body?.data ?? new Uint8Array(), call.requestHeader);
      return { received: true };
    },
    listHistory: async (request, call) => {
      const page = pageOf(request);
      const status = request.status || undefined;
      const { rows, ...total } = await account.history(contexts.authenticated(call), status, page);
      return { data: rows.map(printPayment), ...total, ...page };
    },
    listSubscriptions: async (request, call) => {
      const page = pageOf(request);
      const status = request.status || undefined;
      const { rows, ...total } = await account.subscriptions(contexts.authenticated(call), status, page);
      return { data: rows.map(printSubscription), ...total, ...page };
    },
    cancelSubscription: async ({ id }, call) =>
      printSubscription(await account.cancel(contexts.authenticated(call), id.toLowerCase())),

    createPortalSession: async ({ provider, returnUrl }, call) => {
      const session = await portal.open(contexts.authenticated(call), provider || undefined, returnUrl || undefined);
      return { url: session.url, expiresAt: timestampFromDate(session.expiresAt) };
    },
    reconcilePayments: async ({ provider, from, to }, call) => {
      const read = (time: string | undefined): Date | undefined => (time ? new Date(time) : undefined);
      const wish = { provider: provider || undefined, from: read(from), to: read(to) };
      return { workflowId: `${workflowPrefix}/${await reconciliations.request(contexts.authenticated(call), wish)}` };
    },
    listUnmatchedPayments: async (request) => {
      const page = pageOf(request);
      const { rows, ...total } = await inbox.unmatched(page);
      return { data: rows.map(printUnmatched), ...total, ...page };
    },

    listCards: async (_request, call) => ({ data: (await cards.list(contexts.authenticated(call))).map(printCard) }),
    addCard: async ({ card = {} }, call) => printCard(await cards.add(contexts.authenticated(call), card)),
    setDefaultCard: async ({ cardId }, call) =>
      printCard(await cards.setDefault(contexts.authenticated(call), cardId.toLowerCase())),
    deleteCard: async ({ cardId }, call) => {
      await cards.remove(contexts.authenticated(call), cardId.toLowerCase());
      return {};
    },

    listMeters: async (request, call) => {
      const page = pageOf(request);
      const { rows, ...total } = await meters.list(contexts.authenticated(call), page);
      return { data: rows.map(printMeter), ...total, ...page };
    },
    // The field rules of the contract admit only the three aggregations.
    createMeter: async ({ name, eventName, unit, aggregation = "sum" }, call) =>
      printMeter(
        await meters.create(contexts.authenticated(call), {
          name,
          eventName,
          unit,
          aggregation: (aggregation || "sum") as Aggregation,
        }),
      ),
    recordEvents: (request, call) => meters.record(contexts.authenticated(call), reportedEvents(request)),
    getUsage: async ({ id, from, to, group }, call) => {
      const read = (time: string | undefined): Date | undefined => (time ? new Date(time) : undefined);
      const usage = await meters.usage(contexts.authenticated(call), id.toLowerCase(), read(from), read(to));
      return {
        meterId: id.toLowerCase(),
        from: timestampFromDate(usage.from),
        to: timestampFromDate(usage.to),
        value: usage.value,
        data: group === "day" ? usage.days.map(({ start, value }) => ({ start: timestampFromDate(start), value })) : [],
      };
    },
  };
}

/** A number as a decimal, exactly as it was written. */
function decimalOf(percent: number | undefined): string | null {
  return percent === undefined ? null : String(percent);
}

function readRegion({ region, currency, unitAmountCents = 0, taxPercent }: RegionPrice): PriceInRegion {
  return { region, currency, unitAmountCents, taxPercent: decimalOf(taxPercent) };
}

function printTax(taxPercent: string | null): { taxPercent?: number } {
  return taxPercent === null ? {} : { taxPercent: Number(taxPercent) };
}

function printPrice({ plan, taxPercent, regions, createdAt, ...row }: PriceRow) {
  return {
    ...row,
    ...(plan !== null && { plan }),
    ...printTax(taxPercent),
    regions: regions.map(({ taxPercent: tax, ...place }) => ({ ...place, ...printTax(tax) })),
    createdAt: timestampFromDate(createdAt),
  };
}

function printQuote({ priceId, installId, issuedAt, expiresAt, ...row }: QuoteRow, token: string) {
  return {
    quoteId: row.quoteId,
    ...(priceId !== null && { priceId }),
    ...(installId !== null && { installId }),
    seats: row.seats,
    currency: row.currency,
    region: row.region,
    unitAmountCents: row.unitAmountCents,
    subtotalCents: row.subtotalCents,
    taxCents: row.taxCents,
    totalCents: row.totalCents,
    issuedAt: timestampFromDate(issuedAt),
    expiresAt: timestampFromDate(expiresAt),
    status: "open",
    token,
  };
}

function printMeter({ id, name, eventName, unit, aggregation }: MeterRow) {
  return { id, name, eventName, unit, aggregation, status: "active" };
}
