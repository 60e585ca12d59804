/** Maximum length of a SPIFFE id, bytes (SPIFFE-ID §2.3). */
const MAX_ID_LENGTH = 2_048;
/** Segments of a path: letters, digits, dots, dashes and underscores, no empty or relative ones (SPIFFE-ID §2.2). */
const PATH = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]+)+$/u;
/** Paths below it belong to the identities they name (decisions 7.5). */
const RESERVED = "/svc/";

/** Names in an organization's trust domain (SPIFFE-ID §2, decisions 7.5). */
export function createTrustDomains(suffix: string) {
  const nameOf = (orgUuid: string): string => `${orgUuid}.${suffix}`;
  const idOf = (orgUuid: string): string => `spiffe://${nameOf(orgUuid)}`;
  const idOfIdentity = (orgUuid: string, identityId: string): string => `${idOf(orgUuid)}${RESERVED}${identityId}`;

  return {
    /** The trust domain of an organization, without scheme. */
    nameOf,
    /** The SPIFFE id of a trust domain itself, which its root certificate carries. */
    idOf,
    /** The SPIFFE id of a service identity. */
    idOfIdentity,

    /**
     * Whether a service identity may have a SPIFFE id: a valid one inside the trust domain, in canonical form, and not
     * the one of another identity.
     */
    isAllowed(orgUuid: string, identityId: string, id: string): boolean {
      const domain = idOf(orgUuid);
      if (id.length > MAX_ID_LENGTH || !id.startsWith(`${domain}/`)) return false;
      const path = id.slice(domain.length);
      return PATH.test(path) && (!path.startsWith(RESERVED) || id === idOfIdentity(orgUuid, identityId));
    },
  };
}

/** Names in trust domains. */
export type TrustDomains = ReturnType<typeof createTrustDomains>;
