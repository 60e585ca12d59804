import type { JWK } from "jose";
import { bytesOf } from "./identity.ts";
import type { Server } from "./server.ts";

/** What verifies the SVIDs of the trust domain. */
export interface Trust {
  /** `spiffe://<trust domain>`. */
  readonly trustDomain: string;
  /** Root certificates, DER, one after the other. */
  readonly roots: Uint8Array<ArrayBuffer>;
  /** Revocation list of the root, DER. */
  readonly crl: Uint8Array<ArrayBuffer>;
  /** Keys of JWT-SVIDs as a JWK Set. */
  readonly jwks: string;
}

/** What one call returned of it. */
interface Reading {
  readonly part: Partial<Trust>;
  /** Names this version of it; undefined where it is always read in full. */
  readonly etag?: string | undefined;
}

/** What one call returns of it. */
interface Part {
  /** It is read at each such look at the service. */
  readonly everyLooks: number;
  /** @returns undefined where it is still the version of `etag` */
  read(server: Server, orgUuid: string, etag: string | undefined): Promise<Reading | undefined>;
}

/** Looks after which a part that could not be read is read again at the latest. */
const RETRY_LOOKS = 6;
// The first one is refused when the SVID is revoked. The others are public: the service counts them by address, which
// many agents share.
const PARTS: readonly Part[] = [
  {
    everyLooks: 1,
    async read({ spiffe }) {
      const { trustDomain, x509Authorities } = await spiffe.getTrustBundle({});
      const roots = bytesOf(Buffer.concat(x509Authorities.map(({ asn1 }) => asn1)));
      return { part: { trustDomain: `spiffe://${trustDomain}`, roots } };
    },
  },
  {
    everyLooks: 6,
    async read({ document }, orgUuid, known) {
      const list = await document(`/orgs/${orgUuid}/.well-known/ca.crl?issuer=spiffe`, known);
      return list && { part: { crl: bytesOf(list.data) }, etag: list.etag };
    },
  },
  {
    everyLooks: 60,
    async read({ document }, orgUuid, known) {
      const bundle = await document(`/orgs/${orgUuid}/.well-known/spiffe-bundle`, known);
      return bundle && { part: { jwks: jwksOf(bundle.data) }, etag: bundle.etag };
    },
  },
];

/** Reads what verifies the SVIDs of an organization, each part at its own pace, and keeps what was read last. */
export function createTrustReader() {
  let known: Partial<Trust> = {};
  let knownOf: string | undefined;
  /** Looks until each part is read again. */
  const waits = PARTS.map(() => 0);
  const etags = PARTS.map((): string | undefined => undefined);

  return {
    /** What was read last of an organization; undefined until all of it has been read. */
    last: (orgUuid: string): Trust | undefined => (knownOf === orgUuid && isComplete(known) ? known : undefined),

    /** Reads the parts that are due. @returns why parts could not be read */
    async read(server: Server, orgUuid: string): Promise<unknown[]> {
      if (knownOf !== orgUuid) {
        [known, knownOf] = [{}, orgUuid];
        waits.fill(0);
        etags.fill(undefined);
      }
      const failures: unknown[] = [];
      await Promise.all(
        PARTS.map(async ({ everyLooks, read }, nth) => {
          const wait = waits[nth] ?? 0;
          if (wait > 0) {
            waits[nth] = wait - 1;
            return;
          }
          try {
            const reading = await read(server, orgUuid, etags[nth]);
            waits[nth] = everyLooks - 1;
            if (reading === undefined) return;
            known = { ...known, ...reading.part };
            etags[nth] = reading.etag;
          } catch (error) {
            if (isComplete(known)) waits[nth] = Math.min(everyLooks, RETRY_LOOKS) - 1;
            failures.push(error);
          }
        }),
      );
      return failures;
    },
  };
}

const isComplete = (trust: Partial<Trust>): trust is Trust =>
  trust.roots !== undefined && trust.crl !== undefined && trust.jwks !== undefined;

/** The keys of JWT-SVIDs in a SPIFFE bundle. */
function jwksOf(bundle: Buffer): string {
  const { keys } = JSON.parse(bundle.toString()) as { keys: (JWK & { use: string })[] };
  const signing = keys.filter(({ use }) => use === "jwt-svid");
  return JSON.stringify({
    keys: signing.map(({ use, kty, crv, x, y, kid, alg }) => ({ use, kty, crv, x, y, kid, alg })),
  });
}

/** Whether two bundles verify the same SVIDs. */
export function isSameTrust(one: Trust, other: Trust): boolean {
  return (
    one.trustDomain === other.trustDomain &&
    one.jwks === other.jwks &&
    Buffer.compare(one.roots, other.roots) === 0 &&
    Buffer.compare(one.crl, other.crl) === 0
  );
}
