import { sign } from "node:crypto";
import { promisify } from "node:util";
import { isSignatureOf } from "../../../platform/crypto/jwk.ts";
import type { SigningKey, VerificationKey } from "../../../platform/crypto/jwk.ts";
import type { Sealer } from "../../../platform/crypto/sealed.ts";
import type { Tx } from "../../../platform/db/types.ts";
import { headBytes } from "./hashing.ts";
import type { HeadFacts } from "../../../audit-proof/index.ts";
import type { HeadRow } from "./store.ts";

/** Keys that sign heads; signing-keys provides them. */
export interface HeadKeys {
  /** The key an organization (null: the instance) signs with now. Rejects when there is none. */
  active(tx: Tx, orgUuid: string | null): Promise<SigningKey>;
  /** The public half of a key; undefined when it was deleted. */
  publicKey(orgUuid: string | null, kid: string): Promise<VerificationKey | undefined>;
}

const signOffLoop = promisify(sign) as (
  algorithm: string | null,
  data: Buffer,
  key: SigningKey["privateKey"],
) => Promise<Buffer>;

/** Signs and verifies the heads of chains. */
export function createHeads({ sealer, keys }: { sealer: Sealer; keys: HeadKeys }) {
  return {
    /**
     * The key that signs the heads of an organization: its active key, or the instance's where it has none any more.
     */
    keyOf: (tx: Tx, orgUuid: string | null): Promise<SigningKey> =>
      keys.active(tx, orgUuid).catch(() => keys.active(tx, null)),

    /** Signs a head, and seals it with the instance key. */
    async sign(key: SigningKey, facts: HeadFacts): Promise<HeadRow> {
      const bytes = headBytes(facts);
      const signature =
        key.algorithm === "ed25519"
          ? sign(null, bytes, key.privateKey)
          : await signOffLoop("sha256", bytes, key.privateKey);
      return {
        position: facts.sequence,
        hash: facts.hash,
        signature,
        kid: key.kid,
        at: new Date(facts.at),
        seal: sealer.seal(bytes, contextOf(facts.org_uuid)),
      };
    },

    /** Whether this service sealed a stored head with the instance key. */
    isOurs(orgUuid: string | null, head: HeadRow): boolean {
      try {
        return sealer.open(head.seal, contextOf(orgUuid)).equals(headBytes(factsOf(orgUuid, head)));
      } catch {
        return false;
      }
    },

    /** Whether the signature of a head is valid; undefined when its key was deleted. */
    async isSigned(orgUuid: string | null, head: HeadRow): Promise<boolean | undefined> {
      const key = (await keys.publicKey(orgUuid, head.kid)) ?? (await keys.publicKey(null, head.kid));
      return key === undefined ? undefined : isSignatureOf(key, headBytes(factsOf(orgUuid, head)), head.signature);
    },
  };
}

/** The signed members of a stored head. */
function factsOf(orgUuid: string | null, head: HeadRow): HeadFacts {
  return { org_uuid: orgUuid, sequence: head.position, hash: head.hash, at: head.at.toISOString() };
}

/** The context that a head is sealed with. */
export function contextOf(orgUuid: string | null): string {
  return `audit-head:${orgUuid ?? ""}`;
}

/** Signing and verification of heads. */
export type Heads = ReturnType<typeof createHeads>;
