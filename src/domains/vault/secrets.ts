import { dateOf } from "../../platform/clock.ts";
import type { Clock } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import type { Listed } from "../../platform/db/list.ts";
import type { Page } from "../../platform/db/paging.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import type { Random } from "../../platform/random.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import { sealValue } from "./envelope.ts";
import { vaultErrors } from "./errors.ts";
import { firstKeyring, newKeyring, withKey } from "./keyring.ts";
import { keepSealedKeyring } from "./keyring-store.ts";
import type { MasterKey, MasterKeys, SealRow } from "./master-keys.ts";
import { MAX_LISTED_FOLDERS, MAX_LISTED_VERSIONS } from "./rules.ts";
import type { Condition } from "./rules.ts";
import { readSeal, sealIn } from "./seal-store.ts";
import * as store from "./secret-store.ts";
import type { Description, SecretFilter, SecretRow } from "./secret-store.ts";

/** Dependencies of secrets. */
export interface SecretsDeps {
  database: Pick<Database, "prepared">;
  clock: Clock;
  random: Pick<Random, "bytes" | "uuid">;
  /** How long a deleted secret can be restored. */
  restoreMs: number;
  masterKeys: MasterKeys;
  events: Pick<Events, "emit">;
}

/** A version without its value. */
export interface Version {
  name: string;
  version: number;
  createdAt: Date;
}

/** Writing, deleting, restoring and listing secrets (decisions 7.3). */
export function createSecrets({ database, clock, random, restoreMs, masterKeys, events }: SecretsDeps) {
  function unsealedBy(seal: SealRow): MasterKey {
    const master = masterKeys.find(seal);
    if (master === undefined) throw vaultErrors.sealed();
    return master;
  }

  async function demandUnsealed(tx: Tx): Promise<void> {
    unsealedBy(await sealIn(tx));
  }

  /** Runs a query beside the read of the seal. @throws {vault_sealed} */
  async function whileUnsealed<T>(query: Promise<T>): Promise<T> {
    const [seal, result] = await Promise.all([readSeal(database), query]);
    unsealedBy(seal);
    return result;
  }

  /** Records in the audit log, and for webhooks, what was done to a version. */
  function record(
    tx: Tx,
    context: CallerContext,
    done: "written" | "deleted" | "restored",
    { orgUuid, ...version }: { orgUuid: string; name: string; version: number },
  ): Promise<void> {
    return events.emit(tx, EVENTS[`vault.secret.${done}`], {
      by: causedBy(context),
      orgUuid,
      resourceId: version.name,
      metadata: version,
      data: version,
    });
  }

  return {
    /**
     * Writes the next version of a secret. Concurrent writes of one name wait for each other.
     * @throws {vault_sealed} while the vault is sealed
     * @throws {version_conflict} when the condition does not hold
     */
    put: (
      context: CallerContext,
      orgUuid: string,
      name: string,
      wish: Description & { value: string; condition: Condition },
    ): Promise<Version> =>
      context.transaction(async (tx) => {
        const at = dateOf(clock);
        // Sent at once: the key is locked before the name, in every write.
        const [{ seal, keyring: kept }, written] = await Promise.all([
          keepSealedKeyring(tx, orgUuid),
          store.nextVersion(tx, orgUuid, name, wish.condition, wish, at),
        ]);
        const master = unsealedBy(seal);
        if (written === undefined) throw vaultErrors.versionConflict();
        const keyring = kept ?? (await firstKeyring(tx, orgUuid, newKeyring(master, orgUuid, random), at));
        const { version } = written;
        const place = { orgUuid, name, version };
        const sealed = withKey(master, orgUuid, keyring, (key) => sealValue(key, place, wish.value, random));
        store.insertVersion(tx, written, sealed, at);
        await record(tx, context, "written", { orgUuid, name, version });
        return { name, version, createdAt: at };
      }),

    /**
     * Deletes a secret with all its versions.
     * @throws {vault_sealed} while the vault is sealed
     * @throws {secret_not_found} when there is no such secret
     * @throws {version_conflict} when the condition does not hold
     */
    remove: (context: CallerContext, orgUuid: string, name: string, condition: Condition): Promise<void> =>
      context.transaction(async (tx) => {
        await demandUnsealed(tx);
        const version = await store.lockVersion(tx, orgUuid, name);
        if (version === undefined) throw vaultErrors.secretNotFound();
        if (condition === "absent" || (Array.isArray(condition) && !condition.includes(version)))
          throw vaultErrors.versionConflict();
        await store.markDeleted(tx, orgUuid, name, dateOf(clock), dateOf(clock, restoreMs));
        await record(tx, context, "deleted", { orgUuid, name, version });
      }),

    /**
     * Restores what the last deletion of a name took.
     * @throws {vault_sealed} while the vault is sealed
     * @throws {conflict} when the secret is not deleted
     * @throws {secret_not_found} when there is nothing to restore, or it is too late
     */
    restore: (context: CallerContext, orgUuid: string, name: string): Promise<Version> =>
      context.transaction(async (tx) => {
        await demandUnsealed(tx);
        const restored = await store.restore(tx, orgUuid, name, dateOf(clock));
        if (restored === undefined)
          throw (await store.lockVersion(tx, orgUuid, name)) === undefined
            ? vaultErrors.secretNotFound()
            : vaultErrors.notDeleted();
        const { version } = restored;
        await record(tx, context, "restored", { orgUuid, name, version });
        return { name, ...restored };
      }),

    /**
     * The versions of a secret, newest first.
     * @throws {vault_sealed} while the vault is sealed
     * @throws {secret_not_found} when there is no such secret
     */
    async versions(orgUuid: string, name: string): Promise<{ version: number; createdAt: Date }[]> {
      const found = await whileUnsealed(store.versionsOf(database, orgUuid, name, MAX_LISTED_VERSIONS));
      if (found.length === 0) throw vaultErrors.secretNotFound();
      return found;
    },

    /** Secrets without their values. @throws {vault_sealed} while the vault is sealed */
    list: (orgUuid: string, filter: SecretFilter, page: Page): Promise<Listed<SecretRow>> =>
      whileUnsealed(store.pageOfSecrets(database, orgUuid, filter, dateOf(clock), page)),

    /** The folders of the names in use. @throws {vault_sealed} while the vault is sealed */
    folders: (orgUuid: string): Promise<{ name: string; secrets: number }[]> =>
      whileUnsealed(store.foldersOf(database, orgUuid, MAX_LISTED_FOLDERS)),
  };
}
