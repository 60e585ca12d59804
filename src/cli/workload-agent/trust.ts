import type { SpiffeBundle } from "../../../gen/atrium/spiffe/v1/spiffe_pb.ts";
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

/** What one call returns of it. */
interface Part {
  /** It is read at each such look at the service. */
  readonly everyLooks: number;
  read(server: Server, orgUuid: string): Promise<Partial<Trust>>;
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
      return { trustDomain: `spiffe://${trustDomain}`, roots };
    },
  },
  {
    everyLooks: 6,
    async read({ spiffe }, orgUuid) {
      const { data } = await spiffe.getRevocationList({ orgUuid, issuer: "spiffe" });
      return { crl: bytesOf(data) };
    },
  },
  {
    everyLooks: 60,
    read: async ({ spiffe }, orgUuid) => ({ jwks: jwksOf(await spiffe.getSpiffeBundle({ orgUuid })) }),
  },
];

/** Reads what verifies the SVIDs of an organization, each part at its own pace, and keeps what was read last. */
export function createTrustReader() {
  let known: Partial<Trust> = {};
  let knownOf: string | undefined;
  /** Looks until each part is read again. */
  const waits = PARTS.map(() => 0);

  return {
    /** What was read last of an organization; undefined until all of it has been read. */
    last: (orgUuid: string): Trust | undefined => (knownOf === orgUuid && isComplete(known) ? known : undefined),

    /** Reads the parts that are due. @returns why parts could not be read */
    async read(server: Server, orgUuid: string): Promise<unknown[]> {
      if (knownOf !== orgUuid) {
        [known, knownOf] = [{}, orgUuid];
        waits.fill(0);
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
            const part = await read(server, orgUuid);
            waits[nth] = everyLooks - 1;
            known = { ...known, ...part };
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

function jwksOf({ keys }: SpiffeBundle): string {
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
