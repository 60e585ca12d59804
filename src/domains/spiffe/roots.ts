import { calculateJwkThumbprint } from "jose";
import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Sealer } from "../../platform/crypto/sealed.ts";
import { SKIP_REAUTHORIZATION } from "../../platform/db/types.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { createLru } from "../../platform/lru.ts";
import type { Random } from "../../platform/random.ts";
import { createRoot, openAuthority } from "../../platform/x509/authority.ts";
import type { Authority } from "../../platform/x509/authority.ts";
import { exportPrivateKey, generateP256, importP256 } from "../../platform/x509/keys.ts";
import type { Key } from "../../platform/x509/keys.ts";
import { wholeSeconds } from "../../platform/x509/validity.ts";
import { spiffeErrors } from "./errors.ts";
import * as store from "./root-store.ts";
import type { JwtJwk, PublicRoot, RootToStore } from "./root-store.ts";
import type { TrustDomains } from "./trust-domain.ts";

/** Dependencies of roots. */
export interface RootsDeps {
  database: Database;
  clock: Clock;
  random: Pick<Random, "bytes">;
  /** Seals private keys with the instance key. */
  sealer: Sealer;
  trustDomains: TrustDomains;
}

/** What signs the SVIDs of an organization. */
export interface SvidSigner {
  authority: Authority;
  jwt: { keyId: string; key: Key };
}

/** Lifetime of a root, years (decisions 7.5). */
const LIFETIME_YEARS = 10;
/** Signers kept in memory; an entry takes about 10 KB. */
const CACHED_SIGNERS = 512;
/** Roots that one run of the background job creates. */
const BATCH = 50;

/** The root of each organization's trust domain, and the key of its JWT-SVIDs. */
export function createRoots({ database, clock, random, sealer, trustDomains }: RootsDeps) {
  // The keys of a root never change. Whether its organization still lives is checked where something is signed.
  const signers = createLru<SvidSigner>(CACHED_SIGNERS);

  async function newRoot(orgUuid: string): Promise<RootToStore> {
    const notBefore = wholeSeconds(clock.now());
    const notAfter = new Date(notBefore);
    notAfter.setUTCFullYear(notAfter.getUTCFullYear() + LIFETIME_YEARS);
    const [root, jwt] = await Promise.all([
      createRoot(random, {
        name: [{ O: ["Atrium"] }, { CN: [`SPIFFE root ${orgUuid}`] }],
        uri: trustDomains.idOf(orgUuid),
        notBefore,
        notAfter,
      }),
      newJwtKey(),
    ]);
    const sealed = {
      privateKey: sealer.seal(root.privateKey, rootContext(orgUuid)),
      jwtPrivateKey: sealer.seal(jwt.privateKey, jwtContext(jwt.keyId)),
    };
    root.privateKey.fill(0);
    jwt.privateKey.fill(0);
    const { certificate, keyId } = root;
    return { ...sealed, certificate, keyId, jwtKeyId: jwt.keyId, jwtPublicJwk: jwt.publicJwk, expiresAt: notAfter };
  }

  /** Creates the root of an organization that has none, on whatever instance; without effect where there is one. */
  async function ensure(orgUuid: string): Promise<void> {
    const root = await newRoot(orgUuid);
    // Whoever asks first causes it; nobody's power is needed.
    await database.background.transaction(
      (tx) => store.insertRoot(tx, orgUuid, root, dateOf(clock)),
      SKIP_REAUTHORIZATION,
    );
  }

  async function open(orgUuid: string): Promise<SvidSigner> {
    const row = await store.sealedRoot(database, orgUuid);
    if (row === undefined) throw spiffeErrors.orgNotFound();
    const privateKey = sealer.open(row.privateKey, rootContext(orgUuid));
    const jwtKey = sealer.open(row.jwtPrivateKey, jwtContext(row.jwtKeyId));
    try {
      return {
        authority: await openAuthority(row.certificate, privateKey),
        jwt: { keyId: row.jwtKeyId, key: await importP256(jwtKey) },
      };
    } finally {
      privateKey.fill(0);
      jwtKey.fill(0);
    }
  }

  return {
    /** Creates the root of a new organization, in the transaction that creates it. */
    async insertFirst(tx: Tx, orgUuid: string): Promise<void> {
      const root = await newRoot(orgUuid);
      if (!(await store.insertRoot(tx, orgUuid, root, dateOf(clock))))
        throw new Error("a new organization already has a SPIFFE root");
    },

    /**
     * The public root of an organization. Organizations older than this feature get theirs in the background, or here
     * when somebody asks first.
     * @throws {not_found} when there is no such organization
     */
    async find(orgUuid: string): Promise<PublicRoot> {
      let found = await store.publicRoot(database, orgUuid);
      if (found?.root === null) {
        await ensure(orgUuid);
        found = await store.publicRoot(database, orgUuid);
      }
      if (!found?.root) throw spiffeErrors.orgNotFound();
      return found.root;
    },

    /**
     * What signs the SVIDs of an organization.
     * @throws {not_found} when there is no such organization
     */
    async signer(orgUuid: string): Promise<SvidSigner> {
      const cached = signers.get(orgUuid);
      if (cached !== undefined) return cached;
      if ((await store.sealedRoot(database, orgUuid)) === undefined) await ensure(orgUuid);
      const signer = await open(orgUuid);
      signers.set(orgUuid, signer);
      return signer;
    },

    /**
     * Creates roots of organizations that are older than this feature, a batch at a time and each in its own
     * transaction, so that it can be interrupted anywhere. Returns whether there may be more.
     */
    async createMissing(): Promise<boolean> {
      const orgUuids = await store.organizationsWithoutRoot(database.background, BATCH);
      for (const orgUuid of orgUuids) await ensure(orgUuid);
      return orgUuids.length === BATCH;
    },
  };
}

async function newJwtKey(): Promise<{ privateKey: Buffer; publicJwk: JwtJwk; keyId: string }> {
  const { publicKey, privateKey } = await generateP256();
  const { x, y } = await crypto.subtle.exportKey("jwk", publicKey);
  if (x === undefined || y === undefined) throw new TypeError("the new key has no coordinates");
  const publicJwk = { kty: "EC", crv: "P-256", x, y } as const;
  return {
    privateKey: await exportPrivateKey(privateKey),
    publicJwk,
    keyId: await calculateJwkThumbprint(publicJwk, "sha256"),
  };
}

/** The contexts that the private keys of a trust domain are sealed with. */
export const rootContext = (orgUuid: string): string => `spiffe-root:${orgUuid}`;
export const jwtContext = (keyId: string): string => `spiffe-jwt-key:${keyId}`;

/** Roots of trust domains as other domains use them. */
export type Roots = ReturnType<typeof createRoots>;
