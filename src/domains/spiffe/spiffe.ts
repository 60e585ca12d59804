import { createBundles } from "./bundles.ts";
import { createRoots } from "./roots.ts";
import type { RootsDeps } from "./roots.ts";
import { createTrustDomains } from "./trust-domain.ts";

/** Dependencies of SPIFFE workload identity. */
export interface SpiffeDeps extends Omit<RootsDeps, "trustDomains"> {
  config: {
    /** SPIFFE trust domains are `<org_uuid>.<trustDomain>`. */
    trustDomain: string;
  };
}

/** SPIFFE workload identity: roots, trust bundles. */
export function createSpiffe(deps: SpiffeDeps) {
  const trustDomains = createTrustDomains(deps.config.trustDomain);
  const roots = createRoots({ ...deps, trustDomains });
  return { roots, bundles: createBundles({ roots, trustDomains }) };
}

/** SPIFFE workload identity as other domains use it. */
export type Spiffe = ReturnType<typeof createSpiffe>;
