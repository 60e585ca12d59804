import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import { generateSigningKey, importPrivateKey, importPublicKey } from "../../platform/crypto/jwk.ts";
import type { NewKeyPair, SigningKey, VerificationKey } from "../../platform/crypto/jwk.ts";
import type { Sealer } from "../../platform/crypto/sealed.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { createLru } from "../../platform/lru.ts";
import * as store from "./store.ts";

/** What signing keys are made of. */
export interface KeysDeps {
  database: Database;
  clock: Clock;
  /** Seals private keys with the instance key. */
  sealer: Sealer;
  config: {
    /** How long a replaced key goes on verifying, milliseconds. */
    keyOverlapMs: number;
  };
}

/** How much of its lifetime a note of a signature covers beyond it: the next signatures need no note of their own. */
const COVERED = 0.1;
/** A key may be replaced between its choice and the signature: what ends this near the overlap's end is noted too. */
const SWITCH_MS = 60_000;

/** Keys of either half that are kept in memory; each is a few hundred bytes. */
const kept = 4096;

/** Making, finding and using signing keys. */
export function createSigning({ database, clock, sealer, config }: KeysDeps) {
  // A kid is the thumbprint of its key, so what is kept here can never be out of date. Whether a key may
  // still be used is asked of the database each time: by `active` when signing, with liveness when verifying.
  const privateKeys = createLru<SigningKey>(kept);
  const publicKeys = createLru<VerificationKey>(kept);

  async function keep(tx: Tx, orgUuid: string | null, pair: NewKeyPair, description: string): Promise<boolean> {
    const { kid, algorithm, publicJwk, publicPem, privateDer } = pair;
    const privateKey = sealer.seal(privateDer, context(kid));
    return store.insertActiveKey(
      tx,
      { kid, orgUuid, algorithm, publicJwk, publicPem, privateKey, description },
      dateOf(clock),
    );
  }

  /** What ends before the overlap of its key could needs no note: the key is in the key set until then in any case. */
  async function choose(tx: Tx, orgUuid: string | null, until: Date | undefined): Promise<string | undefined> {
    const lasts = until === undefined ? 0 : until.getTime() - clock.now();
    if (orgUuid === null || until === undefined || lasts <= config.keyOverlapMs - SWITCH_MS)
      return store.activeKid(tx, orgUuid);
    return store.activeKidUntil(tx, orgUuid, until, new Date(until.getTime() + lasts * COVERED));
  }

  return {
    /** Makes a key pair; off the event loop, so before the transaction that stores it. */
    generate: generateSigningKey,

    /** Stores a key as the active one, where the organization has none at this moment of the transaction. */
    async keepIn(tx: Tx, orgUuid: string, pair: NewKeyPair, description: string): Promise<void> {
      if (!(await keep(tx, orgUuid, pair, description)))
        throw new Error("the organization has another active signing key");
    },

    /** Stores the first key of a new organization. */
    async found(tx: Tx, orgUuid: string, pair: NewKeyPair): Promise<void> {
      if (!(await keep(tx, orgUuid, pair, "first key")))
        throw new Error("a new organization already has a signing key");
    },

    /** Sees to it that the instance has a key for tokens without organization; safe under several instances. */
    async ensureInstanceKey(): Promise<void> {
      const pair = await generateSigningKey("ed25519");
      await database.transaction((tx) => keep(tx, null, pair, "instance key"));
    },

    /** Whether the instance key opens the instance's own signing key; true while there is none. */
    async opensInstanceKey(tx: Tx): Promise<boolean> {
      const kid = await store.activeKid(tx, null);
      const row = kid === undefined ? undefined : await store.privateKeyOf(tx, kid);
      if (row === undefined) return true;
      try {
        return sealer.open(row.private_key, context(row.kid)).length > 0;
      } catch {
        return false;
      }
    },

    /**
     * The key an organization (null: the instance) signs with at this moment; `until`: when what it signs expires,
     * where it does.
     */
    async active(tx: Tx, orgUuid: string | null, until?: Date): Promise<SigningKey> {
      const kid = await choose(tx, orgUuid, until);
      const cached = kid === undefined ? undefined : privateKeys.get(kid);
      if (cached !== undefined) return cached;
      const row = kid === undefined ? undefined : await store.privateKeyOf(tx, kid);
      if (row === undefined) throw new Error(`no active signing key for ${orgUuid ?? "the instance"}`);
      const key = {
        kid: row.kid,
        algorithm: row.algorithm,
        privateKey: importPrivateKey(row.algorithm, sealer.open(row.private_key, context(row.kid))),
      };
      privateKeys.set(row.kid, key);
      return key;
    },

    /**
     * The public half of a key by organization (null: the instance) and kid. Says nothing about validity:
     * who verifies a token has to ask the database that in the same request.
     */
    async publicKey(orgUuid: string | null, kid: string): Promise<VerificationKey | undefined> {
      const name = `${orgUuid ?? ""}/${kid}`;
      const cached = publicKeys.get(name);
      if (cached !== undefined) return cached;
      const row = await store.publicKeyOf(database, orgUuid, kid);
      if (row === undefined) return undefined;
      const key = { kid, algorithm: row.algorithm, publicKey: importPublicKey(row.algorithm, row.public_pem) };
      publicKeys.set(name, key);
      return key;
    },
  };
}

function context(kid: string): string {
  return `signing-key:${kid}`;
}

/** Signing keys in use. */
export type Signing = ReturnType<typeof createSigning>;
