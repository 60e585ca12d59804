import { dateOf } from "../../platform/clock.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { deleteKeyring, lockKeyring } from "./keyring-store.ts";
import { createMasterKeys } from "./master-keys.ts";
import type { MasterKeysDeps } from "./master-keys.ts";
import { createReading } from "./reading.ts";
import type { ReadingDeps } from "./reading.ts";
import { createRotation } from "./rotation.ts";
import { createSeal } from "./seal.ts";
import type { SealDeps } from "./seal.ts";
import { endSecrets, lockSecrets } from "./secret-store.ts";
import { createSecrets } from "./secrets.ts";
import type { SecretsDeps } from "./secrets.ts";
import { deleteNames, deleteVersions } from "./tidy-store.ts";

/** Dependencies of the vault. */
export type VaultDeps = Omit<MasterKeysDeps & ReadingDeps & SealDeps & SecretsDeps, "masterKeys" | "database"> & {
  database: Pick<Database, "prepared" | "transaction" | "background">;
};

/** The vault: secrets of organizations, their keys, and the seal. */
export function createVault(given: VaultDeps) {
  const deps = { ...given, masterKeys: createMasterKeys(given) };
  const { database, clock } = deps;
  return {
    seal: createSeal(deps),
    read: createReading(deps),
    secrets: createSecrets(deps),
    rotate: createRotation(deps),
    /** Locks what `endWithOrganization` changes. */
    async lockForEnd(tx: Tx, orgUuid: string): Promise<void> {
      await lockKeyring(tx, orgUuid);
      await lockSecrets(tx, orgUuid);
    },
    /** Ends the vault of an organization: without its key nothing opens, and the tidy tasks remove the rest. */
    async endWithOrganization(tx: Tx, orgUuid: string): Promise<void> {
      await deleteKeyring(tx, orgUuid);
      await endSecrets(tx, orgUuid, dateOf(clock));
    },
    tidy: {
      vaultVersions: () => deleteVersions(database.background, dateOf(clock)),
      vaultNames: () => deleteNames(database.background, dateOf(clock)),
    },
  };
}

/** The vault as the program uses it. */
export type Vault = ReturnType<typeof createVault>;
