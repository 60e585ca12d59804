import { callerOrg } from "../../../platform/caller.ts";
import type { Caller } from "../../../platform/caller.ts";
import type { BillingDeps } from "../deps.ts";
import { personOf } from "../person.ts";
import type { ProviderName, Providers } from "../providers/index.ts";
import * as store from "./store.ts";

/** As whom an organization pays at a provider. */
export interface Payer {
  /** Undefined where the provider asks whoever pays. */
  customer: string | undefined;
  /** Whether the customer was made now and is not stored. */
  isNew: boolean;
}

/** The customers as whom organizations pay. */
export function createPayers({ database, people }: Pick<BillingDeps, "database" | "people">, providers: Providers) {
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
     * As whom a caller's organization pays.
     * @param gone a customer that the provider does not have any more, and that is replaced
     * @throws {provider_error} when the provider makes no customer
     */
    async of(caller: Caller, name: ProviderName, gone?: string): Promise<Payer> {
      const known = await store.customerOf(database, callerOrg(caller), name);
      if (known !== undefined && known !== gone) return { customer: known, isNew: false };
      const made = await make(caller, name);
      const customer = made === gone ? undefined : made;
      return { customer, isNew: customer !== undefined };
    },
  };
}
