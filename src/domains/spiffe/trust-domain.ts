/** Names of an organization's trust domain (SPIFFE-ID §2, decisions 7.5). */
export function createTrustDomains(suffix: string) {
  const nameOf = (orgUuid: string): string => `${orgUuid}.${suffix}`;
  return {
    /** The trust domain of an organization, without scheme. */
    nameOf,
    /** The SPIFFE id of a trust domain itself, which its root certificate carries. */
    idOf: (orgUuid: string): string => `spiffe://${nameOf(orgUuid)}`,
  };
}

/** Names of trust domains. */
export type TrustDomains = ReturnType<typeof createTrustDomains>;
