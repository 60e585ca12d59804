import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import { generateSigningKey, importPrivateKey, importPublicKey } from "../../platform/crypto/jwk.ts";
import type { NewKeyPair, SigningKey, VerificationKey } from "../../platform/crypto/jwk.ts";
import type { Sealer } from "../../platform/crypto/sealed.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { createLru } from "../../platform/lru.ts";
import * as store from "./store.ts";

/** Dependencies of the use of signing keys. */
export interface SigningDeps {
  database: Database;
  clock: Clock;
  /** Seals private keys with the instance key. */
  sealer: Sealer;
  config: {
    /** How long a replaced key remains valid, milliseconds. */
    keyOverlapMs: number;
  };
}

/** Share of its lifetime that the note of a signature covers beyond it, so that the next signatures need no note. */
const COVERED = 0.1;
/**
 * A key may be replaced between its choice and the signature: what expires this close to the overlap's end is noted
 * too, milliseconds.
 */
const SWITCH_MS = 60_000;

/** Private keys, and public keys, kept in memory; each is a few hundred bytes. */
const CACHED_KEYS = 4_096;

/** Making, finding and using signing keys. */
export function createSigning({ database, clock, sealer, config }: SigningDeps) {
  // A kid is the thumbprint of its key, so no entry can be out of date. Whether a key is still valid is checked in the
  // database each time: by `active` when signing, with the session's liveness when verifying.
  const privateKeys = createLru<SigningKey>(CACHED_KEYS);
  const publicKeys = createLru<VerificationKey>(CACHED_KEYS);

  async function insert(tx: Tx, orgUuid: string | null, pair: NewKeyPair, description: string): Promise<boolean> {
    const { kid, algorithm, publicJwk, publicPem, privateDer } = pair;
    const privateKey = sealer.seal(privateDer, sealContext(kid));
    return store.insertActiveKey(
      tx,
      { kid, orgUuid, algorithm, publicJwk, publicPem, privateKey, description },
      dateOf(clock),
    );
  }

  /**
   * What expires before its key's overlap could end needs no note: the key is in the key set until then in any case.
   */
  const needsNote = (until: Date): boolean => until.getTime() - clock.now() > config.keyOverlapMs - SWITCH_MS;

  function activeKeyFor(tx: Tx, orgUuid: string | null, until: Date | undefined) {
    if (orgUuid === null || until === undefined || !needsNote(until)) return store.activeKey(tx, orgUuid);
    const lasts = until.getTime() - clock.now();
    return store.activeKeyUntil(tx, orgUuid, until, new Date(until.getTime() + lasts * COVERED));
  }

  async function activeKeysFor(tx: Tx, orgUuids: readonly string[], until: Date) {
    if (!needsNote(until)) return store.activeKeys(tx, orgUuids);
    const rows = await Promise.all(
      orgUuids.map(async (orgUuid) => ({ orgUuid, row: await activeKeyFor(tx, orgUuid, until) })),
    );
    return rows.flatMap(({ orgUuid, row }) => (row === undefined ? [] : [{ orgUuid, ...row }]));
  }

  function open({ kid, algorithm, privateKey }: store.ActiveKeyRow): SigningKey {
    const cached = privateKeys.get(kid);
    if (cached !== undefined) return cached;
    const key = { kid, algorithm, privateKey: importPrivateKey(algorithm, sealer.open(privateKey, sealContext(kid))) };
    privateKeys.set(kid, key);
    return key;
  }

  return {
    /** Generates a key pair off the event loop; to be called before the transaction that stores it. */
    generate: generateSigningKey,

    /** Stores a key as the active one of an organization that has none at this point of the transaction. */
    async insertActive(tx: Tx, orgUuid: string, pair: NewKeyPair, description: string): Promise<void> {
      if (!(await insert(tx, orgUuid, pair, description)))
        throw new Error("the organization already has an active signing key");
    },

    /** Stores the first key of a new organization. */
    async insertFirst(tx: Tx, orgUuid: string, pair: NewKeyPair): Promise<void> {
      if (!(await insert(tx, orgUuid, pair, "first key")))
        throw new Error("a new organization already has a signing key");
    },

    /**
     * Creates the instance's key, for tokens without an organization, where there is none; safe on several instances.
     */
    async ensureInstanceKey(): Promise<void> {
      const pair = await generateSigningKey("ed25519");
      await database.transaction((tx) => insert(tx, null, pair, "instance key"));
    },

    /** Whether the instance key opens the instance's signing key; true while there is none. */
    async opensInstanceKey(tx: Tx): Promise<boolean> {
      const row = await store.activeKey(tx, null);
      if (row === undefined) return true;
      try {
        return sealer.open(row.privateKey, sealContext(row.kid)).length > 0;
      } catch {
        return false;
      }
    },

    /**
     * The active key of an organization (null: the instance); `until`: when the signed token expires, if it does. Sends
     * one statement, so that the key may be awaited after the transaction.
     */
    async active(tx: Tx, orgUuid: string | null, until?: Date): Promise<SigningKey> {
      const row = await activeKeyFor(tx, orgUuid, until);
      if (row === undefined) throw new Error(`no active signing key for ${orgUuid ?? "the instance"}`);
      return open(row);
    },

    /** The active keys of organizations, each with its organization; sends its statements at once. */
    async activeOf(tx: Tx, orgUuids: readonly string[], until: Date): Promise<ReadonlyMap<string, SigningKey>> {
      const rows = await activeKeysFor(tx, orgUuids, until);
      return new Map(rows.map((row) => [row.orgUuid, open(row)]));
    },

    /**
     * The public half of a key by organization (null: the instance) and kid, whether or not the key is valid: the
     * verification of a token must check that in the database in the same request.
     */
    async publicKey(orgUuid: string | null, kid: string): Promise<VerificationKey | undefined> {
      const name = `${orgUuid ?? ""}/${kid}`;
      const cached = publicKeys.get(name);
      if (cached !== undefined) return cached;
      const row = await store.publicKeyOf(database, orgUuid, kid);
      if (row === undefined) return undefined;
      const key = { kid, algorithm: row.algorithm, publicKey: importPublicKey(row.algorithm, row.publicPem) };
      publicKeys.set(name, key);
      return key;
    },
  };
}

/** The context that a private key is sealed with. */
export function sealContext(kid: string): string {
  return `signing-key:${kid}`;
}

/** Signing with keys, as other domains use it. */
export type Signing = ReturnType<typeof createSigning>;
