import type { Config } from "../../../platform/config/types.ts";
import { ServiceError } from "../../../platform/errors.ts";
import { createPaddle } from "./paddle.ts";
import { PROVIDER_ERRORS, PROVIDER_NAMES } from "./provider.ts";
import type { PaymentProvider, ProviderName } from "./provider.ts";
import { createStripe } from "./stripe.ts";

export { MethodDeclined, PROVIDER_ERRORS, PROVIDER_NAMES, UnknownCustomer, UnknownSubscription } from "./provider.ts";
export type { Fact, PaymentProvider, ProviderEvent, ProviderName } from "./provider.ts";

/** The payment providers that are configured. */
export function createProviders({ stripe, paddle }: Pick<Config, "stripe" | "paddle">) {
  const configured = new Map<ProviderName, PaymentProvider>();
  if (stripe !== undefined) configured.set("stripe", createStripe(stripe));
  if (paddle !== undefined) configured.set("paddle", createPaddle(paddle));

  /** @throws {provider_unknown} for another name than the two */
  function nameOf(name: string): ProviderName {
    const known = PROVIDER_NAMES.find((candidate) => candidate === name);
    if (known === undefined) throw new ServiceError(PROVIDER_ERRORS.unknown);
    return known;
  }

  return {
    nameOf,

    /** Every provider that is configured. */
    names: (): ProviderName[] => [...configured.keys()],

    /** Whether a provider is configured. */
    isConfigured: (name: ProviderName): boolean => configured.has(name),

    /** The provider of those who name none: the only one configured, else Stripe. */
    standard: (): ProviderName => (configured.size === 1 && configured.has("paddle") ? "paddle" : "stripe"),

    /** @throws {provider_not_configured} when it is not configured */
    get(name: ProviderName): PaymentProvider {
      const provider = configured.get(name);
      if (provider === undefined) throw new ServiceError(PROVIDER_ERRORS.notConfigured);
      return provider;
    },

    /**
     * Calls a provider.
     * @throws {provider_error} when the call fails; what `passes` lets through stays as it is
     */
    async call<T>(work: () => Promise<T>, passes: (error: unknown) => boolean = () => false): Promise<T> {
      try {
        return await work();
      } catch (error) {
        if (passes(error)) throw error;
        throw new ServiceError(PROVIDER_ERRORS.failed, { cause: error });
      }
    },
  };
}

/** The payment providers. */
export type Providers = ReturnType<typeof createProviders>;
