import { createBundles } from "./bundles.ts";
import { createClientCertificates } from "./client-certificates.ts";
import { createCrl } from "./crl.ts";
import type { SpiffeDeps } from "./deps.ts";
import { createJwtSvids } from "./jwt-svids.ts";
import { createRoots } from "./roots.ts";
import { createSvids } from "./svids.ts";
import { createTrustDomains } from "./trust-domain.ts";

/** SPIFFE workload identity: roots, trust bundles, SVIDs, their revocation list, client certificates. */
export function createSpiffe(deps: SpiffeDeps) {
  const trustDomains = createTrustDomains(deps.config.trustDomain);
  const roots = createRoots({ ...deps, trustDomains });
  const names = { roots, trustDomains };
  return {
    roots,
    bundles: createBundles(names),
    svids: createSvids(deps, names),
    jwtSvids: createJwtSvids(deps, names),
    crl: createCrl(deps, roots),
    clientCertificates: createClientCertificates({ ...deps, trustDomains }),
  };
}

/** SPIFFE workload identity as other domains use it. */
export type Spiffe = ReturnType<typeof createSpiffe>;
