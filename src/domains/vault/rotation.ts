import { setTimeout as sleep } from "node:timers/promises";
import { dateOf } from "../../platform/clock.ts";
import type { Clock } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import type { Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import type { Log } from "../../platform/log.ts";
import type { Random } from "../../platform/random.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import { rewrapKey } from "./envelope.ts";
import { vaultErrors } from "./errors.ts";
import { newKeyring, withKey } from "./keyring.ts";
import * as store from "./keyring-store.ts";
import type { KeyringRow, Position } from "./keyring-store.ts";
import type { MasterKey, MasterKeys } from "./master-keys.ts";
import { sealIn } from "./seal-store.ts";

/** Dependencies of rotations. */
export interface RotationDeps {
  clock: Clock;
  random: Pick<Random, "bytes" | "uuid">;
  log: Pick<Log, "error">;
  masterKeys: MasterKeys;
  events: Pick<Events, "emit">;
}

/** Result of a rotation. */
export interface KeyRotation {
  keyId: string;
  previousKeyId: string | undefined;
  rotatedAt: Date;
}

/** Versions in one statement: some milliseconds of computation between two of them. */
const BATCH = 250;
/** How long a rotation waits for another one of the same organization. */
const WAIT_MS = 30_000;
const RETRY_MS = 50;

/** Another rotation of the same organization runs. */
class RotationRunning extends Error {}

/** Rotates the keys of organizations (decisions 7.1). */
export function createRotation({ clock, random, log, masterKeys, events }: RotationDeps) {
  /** Wraps the keys of every version that the old key wraps with the new one. Deleted versions can be restored. */
  async function rewrap(tx: Tx, master: MasterKey, orgUuid: string, from: KeyringRow, to: KeyringRow): Promise<void> {
    let after: Position = { secretId: "0", version: 0 };
    for (;;) {
      const rows = await store.wrappedWith(tx, orgUuid, from.keyId, after, BATCH);
      const wrapped = withKey(master, orgUuid, from, (old) =>
        withKey(master, orgUuid, to, (fresh) =>
          rows.flatMap(({ secretId, name, version, wrappedKey }) => {
            try {
              const place = { orgUuid, name, version };
              return [{ secretId, version, wrappedKey: rewrapKey(old, fresh, place, wrappedKey, random) }];
            } catch (err) {
              // It cannot be read either; it must not keep the organization from changing its key.
              log.error({ err, orgUuid, name, version }, "a stored secret does not open, and is not rewrapped");
              return [];
            }
          }),
        ),
      );
      await store.putWrapped(tx, to.keyId, wrapped);
      const last = rows.at(-1);
      if (last === undefined || rows.length < BATCH) return;
      after = last;
    }
  }

  /**
   * One transaction: readers see the old key with the old versions until it commits. Writers go on with the old key
   * until the end, when the rotation waits for them and rewraps what they wrote.
   */
  async function rotateOnce(context: CallerContext, tx: Tx, orgUuid: string): Promise<KeyRotation> {
    if (!(await store.tryRotationLock(tx, orgUuid))) throw new RotationRunning();
    const master = masterKeys.find(await sealIn(tx));
    if (master === undefined) throw vaultErrors.sealed();
    const rotatedAt = dateOf(clock);
    const fresh = newKeyring(master, orgUuid, random);
    let previous = await store.keyringOf(tx, orgUuid);
    if (previous === undefined) {
      await store.insertKeyring(tx, orgUuid, fresh, rotatedAt);
      const stored = await store.keyringOf(tx, orgUuid);
      if (stored?.keyId !== fresh.keyId) previous = stored;
    }
    if (previous !== undefined) {
      await rewrap(tx, master, orgUuid, previous, fresh);
      await store.lockKeyring(tx, orgUuid);
      await rewrap(tx, master, orgUuid, previous, fresh);
      await store.replaceKeyring(tx, orgUuid, fresh, rotatedAt);
    }
    const { keyId } = fresh;
    await events.emit(tx, EVENTS["kms_key.rotated"], {
      by: causedBy(context),
      orgUuid,
      resourceId: keyId,
      metadata: { key_id: keyId, kind: "kms_key", previous_key_id: previous?.keyId ?? null },
    });
    return { keyId, previousKeyId: previous?.keyId, rotatedAt };
  }

  /**
   * Makes a new key of the organization and rewraps every version with it. Waits for a rotation that is under way.
   * @throws {vault_sealed} while the vault is sealed
   * @throws {unavailable} when another rotation takes too long
   */
  return async (context: CallerContext, orgUuid: string): Promise<KeyRotation> => {
    // A wait inside a statement would end with the statement's time limit.
    for (let waited = 0; waited < WAIT_MS; waited += RETRY_MS) {
      try {
        return await context.transaction((tx) => rotateOnce(context, tx, orgUuid));
      } catch (error) {
        if (!(error instanceof RotationRunning)) throw error;
      }
      // The next attempt fails once the request's deadline has passed.
      await sleep(RETRY_MS);
    }
    throw errors.unavailable({ message: "Another rotation of this key is under way; try again.", retryAfter: 5 });
  };
}
