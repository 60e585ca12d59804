import { createBundles } from "./bundles.ts";
import { createClientCertificates } from "./client-certificates.ts";
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

/** SPIFFE workload identity: roots, trust bundles, client certificates. */
export function createSpiffe(deps: SpiffeDeps) {
  const trustDomains = createTrustDomains(deps.config.trustDomain);
  const roots = createRoots({ ...deps, trustDomains });
  return {
    roots,
    bundles: createBundles({ roots, trustDomains }),
    clientCertificates: createClientCertificates({ ...deps, trustDomains }),
  };
}

/** SPIFFE workload identity as other domains use it. */
export type Spiffe = ReturnType<typeof createSpiffe>;
