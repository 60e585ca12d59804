import { createAuthorities } from "./authorities.ts";
import type { AuthoritiesDeps } from "./authorities.ts";
import { createCertificates } from "./certificates.ts";
import { createRevocationLists } from "./revocation-lists.ts";
import { createSigners } from "./signers.ts";
import { createTidy } from "./tidy.ts";

/** Dependencies of certificate authorities. */
export interface MtlsCaDeps extends AuthoritiesDeps {
  config: { baseUrl: string };
}

/** Certificate authorities of organizations, their certificates and revocation lists. */
export function createMtlsCa({ config, ...deps }: MtlsCaDeps) {
  const authorities = createAuthorities(deps);
  const signers = createSigners(deps);
  const listUrl = (orgUuid: string, caUuid: string): string =>
    `${config.baseUrl}/orgs/${orgUuid}/.well-known/ca.crl?ca_uuid=${caUuid}`;
  return {
    authorities,
    certificates: createCertificates({ ...deps, authorities, signers, listUrl }),
    revocationLists: createRevocationLists({ ...deps, signers }),
    tidy: createTidy(deps),
  };
}

/** Certificate authorities as other domains use them. */
export type MtlsCa = ReturnType<typeof createMtlsCa>;
