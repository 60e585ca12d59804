import { callerOrg } from "../../../platform/caller.ts";
import type { Caller } from "../../../platform/caller.ts";
import { dateOf } from "../../../platform/clock.ts";
import type { BillingDeps } from "../deps.ts";
import { personOf } from "../person.ts";
import type { ProviderName, Providers } from "../providers/index.ts";
import * as store from "./store.ts";

/** The customers as whom organizations pay. */
export function createPayers(
  { database, clock, people }: Pick<BillingDeps, "database" | "clock" | "people">,
  providers: Providers,
) {
  /** A new customer of a caller's organization; undefined where there cannot be one. */
  async function make(caller: Caller, name: ProviderName): Promise<string | undefined> {
    const person = personOf(caller);
    // With the address of somebody else, what they buy elsewhere with it would stand in the organization's portal.
    const email = person === undefined ? undefined : await people.confirmedEmail(person);
    if (email === undefined) return undefined;
    const provider = await providers.get(name);
    return providers.call(() => provider.customerFor(callerOrg(caller), email));
  }

  return {
    /**
     * The customer as whom a caller's organization pays; undefined where the provider asks whoever pays. A new one is
     * stored before it is used, so that checkouts of two people at the same time have the same one.
     * @param gone a customer that the provider does not have any more, and that is replaced
     * @throws {provider_error} when the provider makes no customer
     */
    async of(caller: Caller, name: ProviderName, gone?: string): Promise<string | undefined> {
      const orgUuid = callerOrg(caller);
      const known = await store.customerOf(database, orgUuid, name);
      if (known !== undefined && known !== gone) return known;
      const made = await make(caller, name);
      if (made === undefined || made === gone) return undefined;
      // The answer to an Idempotency-Key belongs to the transaction that stores the session, not to this one.
      await database.transaction((tx) => store.putCustomer(tx, orgUuid, name, made, gone, dateOf(clock)), {
        ...caller,
        effect: undefined,
      });
      return (await store.customerOf(database, orgUuid, name)) ?? made;
    },
  };
}
