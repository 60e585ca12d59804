import type { Tx } from "../../platform/db/types.ts";
import type { Random } from "../../platform/random.ts";
import { KEY_BYTES, organizationKeyContext } from "./envelope.ts";
import type { OrganizationKey } from "./envelope.ts";
import * as store from "./keyring-store.ts";
import type { KeyringRow } from "./keyring-store.ts";
import type { MasterKey } from "./master-keys.ts";

/** Runs `work` with an opened organization key, and overwrites the key afterwards. `work` must not keep it. */
export function withKey<T>(master: MasterKey, orgUuid: string, row: KeyringRow, work: (key: OrganizationKey) => T): T {
  const key = master.open(row.box, organizationKeyContext(orgUuid, row.keyId));
  try {
    return work({ keyId: row.keyId, key });
  } finally {
    key.fill(0);
  }
}

/** Makes an organization key and wraps it with the master key. */
export function newKeyring(master: MasterKey, orgUuid: string, random: Pick<Random, "bytes" | "uuid">): KeyringRow {
  const keyId = random.uuid();
  const key = random.bytes(KEY_BYTES);
  try {
    return { keyId, box: master.seal(key, organizationKeyContext(orgUuid, keyId)) };
  } finally {
    key.fill(0);
  }
}

/** Makes the first key of an organization, unless another transaction has; returns the stored one. */
export async function firstKeyring(tx: Tx, orgUuid: string, made: KeyringRow, at: Date): Promise<KeyringRow> {
  await store.insertKeyring(tx, orgUuid, made, at);
  const kept = await store.keepKeyring(tx, orgUuid);
  if (kept === undefined) throw new Error(`organization ${orgUuid} has no key of the vault`);
  return kept;
}
