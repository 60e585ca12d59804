import type { Sealer } from "../../platform/crypto/sealed.ts";
import type { Database } from "../../platform/db/types.ts";
import { createLru } from "../../platform/lru.ts";
import { openAuthority } from "../../platform/x509/authority.ts";
import type { Authority } from "../../platform/x509/authority.ts";
import { sealedAuthority } from "./authority-store.ts";
import { mtlsCaErrors } from "./errors.ts";

/** Opened authorities kept in memory; an entry takes about 10 KB. */
const CACHED = 512;

/** The additional data that the key of an authority is sealed with. */
export const keyContext = (caUuid: string): string => `mtls-ca:${caUuid}`;

/**
 * Opens authorities to sign with. Their keys never change; whether an authority is still active is checked in the
 * transaction that stores what it signed.
 */
export function createSigners({ database, sealer }: { database: Pick<Database, "prepared">; sealer: Sealer }) {
  const opened = createLru<Authority>(CACHED);
  return {
    /** @throws {not_found} when there is no such authority */
    async open(caUuid: string): Promise<Authority> {
      const known = opened.get(caUuid);
      if (known !== undefined) return known;
      const row = await sealedAuthority(database, caUuid);
      if (row === undefined) throw mtlsCaErrors.notFound();
      const privateKey = sealer.open(row.privateKey, keyContext(caUuid));
      try {
        const authority = await openAuthority(row.certificate, privateKey, row.keyAlgorithm);
        opened.set(caUuid, authority);
        return authority;
      } finally {
        privateKey.fill(0);
      }
    },
  };
}

/** Opens authorities to sign with. */
export type Signers = ReturnType<typeof createSigners>;
