import { callerOrg } from "../../../platform/caller.ts";
import type { Caller } from "../../../platform/caller.ts";
import { dateOf } from "../../../platform/clock.ts";
import type { CallerContext } from "../../../platform/context.ts";
import { causedBy, EVENTS } from "../../event-catalogue/index.ts";
import type { BillingDeps } from "../deps.ts";
import type { DemandPermission } from "../../rbac/index.ts";
import { billingErrors } from "../errors.ts";
import { UnknownCustomer } from "../providers/index.ts";
import type { ProviderName, Providers } from "../providers/index.ts";
import { pageOf } from "./pages.ts";
import * as store from "./portal-store.ts";

/** How long a session can be opened, milliseconds. The providers say that it is short, and Stripe five minutes. */
const SESSION_MS = 5 * 60_000;

/** Sessions of the providers' customer portals (decisions 17.5). */
export function createPortal(
  { database, clock, events, config }: BillingDeps,
  providers: Providers,
  demand: DemandPermission,
) {
  /** The provider to use: the one that is named, else the default one if it knows the organization, else the other. */
  function choose(wish: string | undefined, known: ReadonlyMap<ProviderName, string>): ProviderName {
    if (wish !== undefined) return providers.nameOf(wish);
    const standard = providers.standard();
    if (known.has(standard)) return standard;
    return [...known.keys()].find((name) => providers.isConfigured(name)) ?? standard;
  }

  return {
    /** @throws {forbidden} without the permission `billing:write` */
    demandToWrite: async (caller: Caller | undefined): Promise<void> => {
      if (caller !== undefined) await demand(caller, "billing:write");
    },

    /**
     * Opens a session of the customer portal for the organization's customer, or for the caller's own.
     * @throws {forbidden} without the permission `billing:write` when the session is open
     * @throws {validation_error} for a page that is neither the service's nor an allowed origin's
     * @throws {provider_unknown} for another provider than the two
     * @throws {provider_not_configured} when it is not configured
     * @throws {conflict} when the provider knows nobody, or another organization has the same customer
     * @throws {provider_error} when the provider does not open one
     */
    async open(context: CallerContext, wish: string | undefined, returnUrl: string | undefined) {
      const orgUuid = callerOrg(context.caller);
      const page = pageOf(config, "return_url", returnUrl);
      const userUuid = context.caller.userUuid ?? null;
      const known = await store.customersOf(database, orgUuid, userUuid);
      const name = choose(wish, known);
      const provider = await providers.get(name);
      const customer = known.get(name);
      if (customer === undefined) throw billingErrors.unknownCustomer();
      if (await store.isSharedCustomer(database, name, customer, { orgUuid, userUuid }))
        throw billingErrors.sharedCustomer();
      const expiresAt = dateOf(clock, SESSION_MS);
      const isUnknown = (error: unknown): boolean => error instanceof UnknownCustomer;
      const url = await providers
        .call(() => provider.openPortal(customer, page), isUnknown)
        .catch((error: unknown) => {
          throw isUnknown(error) ? billingErrors.unknownCustomer({ cause: error }) : error;
        });
      await context.transaction(async (tx) => {
        await demand(context.caller, "billing:write", tx);
        await events.emit(tx, EVENTS["billing_portal.opened"], {
          by: causedBy(context),
          orgUuid,
          resourceId: orgUuid,
          metadata: { provider: name },
        });
      });
      return { url, expiresAt };
    },
  };
}
