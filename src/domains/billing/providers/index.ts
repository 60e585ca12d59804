import type { Config, Provider } from "../../../platform/config/types.ts";
import { ServiceError } from "../../../platform/errors.ts";
import { PROVIDER_ERRORS, PROVIDER_NAMES } from "./provider.ts";
import type { PaymentProvider, ProviderName } from "./provider.ts";
import { isRefusal } from "./refusal.ts";

export {
  endsByItself,
  MethodDeclined,
  PROVIDER_ERRORS,
  PROVIDER_NAMES,
  UnknownCustomer,
  UnknownSubscription,
  UnsupportedSum,
} from "./provider.ts";
export type { Fact, PaymentProvider, ProviderEvent, ProviderName } from "./provider.ts";

/** Their SDKs are loaded with the first call: together they take 20 MB. */
const load = {
  stripe: async (settings: Provider): Promise<PaymentProvider> => (await import("./stripe.ts")).createStripe(settings),
  paddle: async (settings: Provider): Promise<PaymentProvider> => (await import("./paddle.ts")).createPaddle(settings),
} as const;

/** The payment providers that are configured. */
export function createProviders({ stripe, paddle }: Pick<Config, "stripe" | "paddle">) {
  const configured = new Map<ProviderName, Provider>();
  if (stripe !== undefined) configured.set("stripe", stripe);
  if (paddle !== undefined) configured.set("paddle", paddle);
  const loaded = new Map<ProviderName, Promise<PaymentProvider>>();

  /** @throws {provider_not_configured} when it is not configured */
  function settingsOf(name: ProviderName): Provider {
    const settings = configured.get(name);
    if (settings === undefined) throw new ServiceError(PROVIDER_ERRORS.notConfigured);
    return settings;
  }

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
    demand: (name: ProviderName): void => void settingsOf(name),

    /** @throws {provider_not_configured} when it is not configured */
    async get(name: ProviderName): Promise<PaymentProvider> {
      const settings = settingsOf(name);
      let provider = loaded.get(name);
      if (provider === undefined) loaded.set(name, (provider = load[name](settings)));
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
        throw new ServiceError(PROVIDER_ERRORS[isRefusal(error) ? "refused" : "failed"], { cause: error });
      }
    },
  };
}

/** The payment providers. */
export type Providers = ReturnType<typeof createProviders>;
