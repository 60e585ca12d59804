import { dateOf } from "../../platform/clock.ts";
import { createMasterKeys } from "./master-keys.ts";
import type { MasterKeysDeps } from "./master-keys.ts";
import { createReading } from "./reading.ts";
import type { ReadingDeps } from "./reading.ts";
import { createRotation } from "./rotation.ts";
import { createSeal } from "./seal.ts";
import type { SealDeps } from "./seal.ts";
import { createSecrets } from "./secrets.ts";
import type { SecretsDeps } from "./secrets.ts";
import { deleteNames, deleteVersions } from "./tidy-store.ts";
import type { Database } from "../../platform/db/types.ts";

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
    tidy: {
      vaultVersions: () => deleteVersions(database.background, dateOf(clock)),
      vaultNames: () => deleteNames(database.background, dateOf(clock)),
    },
  };
}

/** The vault as the program uses it. */
export type Vault = ReturnType<typeof createVault>;
