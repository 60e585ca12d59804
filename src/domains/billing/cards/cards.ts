import { callerOrg } from "../../../platform/caller.ts";
import type { Caller } from "../../../platform/caller.ts";
import { dateOf } from "../../../platform/clock.ts";
import type { CallerContext } from "../../../platform/context.ts";
import { errors } from "../../../platform/errors.ts";
import { memberOf } from "../../../platform/json-member.ts";
import { causedBy, EVENTS } from "../../event-catalogue/index.ts";
import type { BillingDeps } from "../deps.ts";
import { billingErrors } from "../errors.ts";
import { personOf } from "../person.ts";
import { MethodDeclined, UnknownCustomer } from "../providers/index.ts";
import type { PaymentProvider, Providers } from "../providers/index.ts";
import { containsCardNumber } from "./raw-number.ts";
import * as store from "./store.ts";
import type { CardRow, Holder } from "./store.ts";

/** Maximum number of cards of a person in an organization. */
const MAX_CARDS = 50;

/** Stored payment methods of a person in an organization (decisions 10.8). */
export function createCards({ database, clock, random, events, log }: BillingDeps, providers: Providers) {
  /** @throws {forbidden} for a workload */
  function holderOf(caller: Caller): Holder {
    const userUuid = personOf(caller);
    if (userUuid === undefined) throw billingErrors.noPerson();
    return { orgUuid: callerOrg(caller), userUuid };
  }

  const isDeclined = (error: unknown): boolean => error instanceof MethodDeclined;

  /**
   * Attaches a method to the person's customer; returns both. A customer whom the provider does not have any more, as
   * after a change of the account, is replaced by a new one.
   */
  async function attach(holder: Holder, provider: PaymentProvider, email: string | null, token: string) {
    const key = `customer-${holder.orgUuid}-${holder.userUuid}`;
    const create = (name: string) => providers.call(() => provider.createCustomer(email, name), isDeclined);
    const attachTo = async (customer: string, passes: (error: unknown) => boolean) => {
      const method = await providers.call(() => provider.attachMethod(customer, token), passes);
      return { customer, method };
    };
    const isUnknown = (error: unknown): boolean => error instanceof UnknownCustomer;
    const customer = (await store.customerOf(database, holder, provider.name)) ?? (await create(key));
    try {
      return await attachTo(customer, (error) => isDeclined(error) || isUnknown(error));
    } catch (error) {
      if (!isUnknown(error)) throw error;
      // Another key: to the first one the provider may repeat its answer.
      return attachTo(await create(`${key}-${customer}`), isDeclined);
    }
  }

  /** Detaches a method for which no card was stored. Paddle attaches none: it is the customer's already. */
  async function release(holder: Holder, provider: PaymentProvider, customer: string, externalId: string) {
    if (provider.name === "paddle") return;
    try {
      const cards = await store.cardsOf(database, holder, MAX_CARDS);
      const isStored = cards.some((card) => card.provider === provider.name && card.externalId === externalId);
      if (!isStored) await provider.detachMethod(customer, externalId);
    } catch (error) {
      log.warn({ err: error, provider: provider.name }, "A payment method without a card stays attached");
    }
  }

  return {
    /** @throws {forbidden} for a workload */
    demandPerson: (caller: Caller | undefined): void => {
      if (caller !== undefined) holderOf(caller);
    },

    /** The caller's cards, newest first. */
    list: async ({ caller }: CallerContext): Promise<CardRow[]> =>
      personOf(caller) === undefined ? [] : store.cardsOf(database, holderOf(caller), MAX_CARDS),

    /**
     * Stores a payment method by the provider's token. The first becomes the default.
     * @param body any JSON object
     * @throws {raw_card_rejected} for a card number anywhere in the body
     * @throws {bad_request} for a member in both spellings
     * @throws {validation_error} for members that are missing or wrong
     * @throws {provider_unknown} for another provider than the two
     * @throws {provider_not_configured} when it is not configured
     * @throws {conflict} when the person has 50 other cards
     * @throws {card_declined} when the provider declines it or does not know it
     */
    async add(context: CallerContext, body: Readonly<Record<string, unknown>>): Promise<CardRow> {
      if (containsCardNumber(body)) throw billingErrors.rawCard();
      const wish = readWish(body);
      const holder = holderOf(context.caller);
      const name = providers.nameOf(wish.provider);
      const provider = await providers.get(name);
      const cards = await store.cardsOf(database, holder, MAX_CARDS);
      const isStored = cards.some((card) => card.provider === name && card.externalId === wish.token);
      if (cards.length >= MAX_CARDS && !isStored) throw billingErrors.tooManyCards();
      try {
        const { customer, method } = await attach(holder, provider, context.caller.email, wish.token);
        const storing = context.transaction(async (tx) => {
          await store.lockCards(tx, holder);
          const others = await store.countOthers(tx, holder, name, method.externalId);
          if (others >= MAX_CARDS) throw billingErrors.tooManyCards();
          await store.storeCustomer(tx, holder, name, customer);
          const isDefault = wish.makeDefault || others === 0;
          if (isDefault) await store.clearDefault(tx, holder);
          const row = { id: random.uuid(), provider: name, ...method, isDefault, createdAt: dateOf(clock) };
          const card = await store.putCard(tx, holder, row);
          await events.emit(tx, EVENTS["card.added"], {
            by: causedBy(context),
            orgUuid: holder.orgUuid,
            resourceId: card.id,
            metadata: { provider: name, brand: card.brand, last4: card.last4 },
          });
          return card;
        });
        return await storing.catch(async (error: unknown) => {
          await release(holder, provider, customer, method.externalId);
          throw error;
        });
      } catch (error) {
        if (!isDeclined(error)) throw error;
        throw billingErrors.cardDeclined({ cause: error });
      }
    },

    /** Makes a card the default. @throws {card_not_found} when the caller has no such card */
    setDefault: (context: CallerContext, id: string): Promise<CardRow> => {
      const holder = holderOf(context.caller);
      return context.transaction(async (tx) => {
        await store.lockCards(tx, holder);
        await store.clearDefault(tx, holder);
        const card = await store.setDefault(tx, holder, id);
        if (card === undefined) throw billingErrors.cardNotFound();
        await events.emit(tx, EVENTS["card.default_changed"], {
          by: causedBy(context),
          orgUuid: holder.orgUuid,
          resourceId: id,
          metadata: { last4: card.last4 },
        });
        return card;
      });
    },

    /**
     * Deletes a card, at the provider and then here; the newest of the others becomes the default.
     * @throws {card_not_found} when the caller has no such card
     * @throws {provider_error} when the provider does not detach it; then the card stays
     * @throws {provider_not_configured} while it is not configured; then the card stays too
     */
    async remove(context: CallerContext, id: string): Promise<void> {
      const holder = holderOf(context.caller);
      const card = await store.findCard(database, holder, id);
      if (card === undefined) throw billingErrors.cardNotFound();
      const customer = await store.customerOf(database, holder, card.provider);
      if (customer !== undefined) {
        const provider = await providers.get(card.provider);
        await providers.call(() => provider.detachMethod(customer, card.externalId));
      }
      await context.transaction(async (tx) => {
        await store.lockCards(tx, holder);
        const removed = await store.deleteCard(tx, holder, id);
        if (removed === undefined) throw billingErrors.cardNotFound();
        if (removed.isDefault) await store.setNewestDefault(tx, holder);
        await events.emit(tx, EVENTS["card.removed"], {
          by: causedBy(context),
          orgUuid: holder.orgUuid,
          resourceId: id,
          metadata: { last4: removed.last4 },
        });
      });
    },
  };
}

function readWish(body: Readonly<Record<string, unknown>>): { provider: string; token: string; makeDefault: boolean } {
  const fail = (field: string, code: string, message: string) =>
    errors.validation({ fields: [{ field, code, message }] });
  const text = (field: string, value: unknown, max: number): string => {
    if (value === undefined || value === null || value === "") throw fail(field, "required", "is required");
    if (typeof value !== "string") throw fail(field, "type", "must be a string");
    if (value.length > max) throw fail(field, "too_long", `must have at most ${max} characters`);
    return value;
  };
  const provider = text("provider", body["provider"], 64);
  const token = text("payment_method_token", memberOf(body, "payment_method_token", "paymentMethodToken"), 255);
  const makeDefault = memberOf(body, "make_default", "makeDefault") ?? false;
  if (typeof makeDefault !== "boolean") throw fail("make_default", "type", "must be true or false");
  return { provider, token, makeDefault };
}
