import { dateOf } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import type { NewKeyPair } from "../../platform/crypto/jwk.ts";
import type { Tx } from "../../platform/db/types.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import { keyErrors } from "./errors.ts";
import { KEY_OVERLAP } from "./events.ts";
import * as store from "./manage-store.ts";
import type { KeyRow } from "./manage-store.ts";
import { MAX_KEYS, readAlgorithm, rotatingUntil, validAt } from "./rules.ts";
import type { Signing, SigningDeps } from "./signing.ts";

/** Dependencies of managing signing keys. */
export interface ManageDeps extends SigningDeps {
  events: Pick<Events, "emit">;
}

/** Result of a rotation. */
export interface Rotation {
  kid: string;
  previousKid: string;
  /** End of the previous key's overlap. */
  previousExpiresAt: Date;
}

/** A key of another algorithm became the active one while the key for a rotation was generated. */
class AlgorithmChanged extends Error {}

/** Creating, listing, rotating and deleting an organization's signing keys (decisions 6.1). */
export function createManage({ database, clock, events, config }: ManageDeps, signing: Signing) {
  /** The valid keys, read before a key is generated so that what the transaction would refuse costs no key. */
  async function presentKeys(orgUuid: string): Promise<KeyRow[]> {
    const at = dateOf(clock);
    return validAt(await store.listKeys(database, orgUuid, at), at);
  }

  /**
   * The active one of the valid keys, which another key is to replace.
   * @throws {conflict} when the organization has 10 valid keys
   */
  function replaceable(orgUuid: string, valid: readonly KeyRow[]): KeyRow {
    const active = valid.find((key) => key.active);
    if (active === undefined) throw new Error(`organization ${orgUuid} has no active signing key`);
    if (valid.length >= MAX_KEYS) throw keyErrors.tooMany();
    return active;
  }

  /**
   * The active one of the valid keys, which a rotation is to replace.
   * @throws {rotation_in_progress} until the previous rotation's overlap ends
   * @throws {conflict} when the organization has 10 valid keys
   */
  function rotatable(orgUuid: string, valid: readonly KeyRow[]): KeyRow {
    const until = rotatingUntil(valid);
    if (until === undefined) return replaceable(orgUuid, valid);
    const message = `A rotation is under way until ${until.toISOString()}, or until the previous key is deleted.`;
    throw keyErrors.rotationInProgress({ message });
  }

  /** Makes `pair` the active key; `previous` remains valid for the overlap, whose end is returned. */
  async function replace(
    tx: Tx,
    orgUuid: string,
    previous: KeyRow,
    pair: NewKeyPair,
    { description, rotation }: { description: string; rotation: boolean },
  ): Promise<Date> {
    const expiresAt = dateOf(clock, config.keyOverlapMs);
    await store.replaceKey(tx, previous.kid, expiresAt, rotation);
    await signing.insertActive(tx, orgUuid, pair, description);
    await tx.emit({ topic: KEY_OVERLAP, payload: { key_id: previous.kid } });
    return expiresAt;
  }

  /** @throws {AlgorithmChanged} when the key to replace is of another algorithm than `pair` */
  async function rotateTo(context: CallerContext, tx: Tx, orgUuid: string, pair: NewKeyPair): Promise<Rotation> {
    await store.lockKeys(tx, orgUuid);
    const previous = rotatable(orgUuid, await store.validKeys(tx, orgUuid, dateOf(clock)));
    if (previous.algorithm !== pair.algorithm) throw new AlgorithmChanged();
    const expiresAt = await replace(tx, orgUuid, previous, pair, { description: "rotated", rotation: true });
    await events.emit(tx, EVENTS["signing_key.rotated"], {
      by: causedBy(context),
      orgUuid,
      resourceId: pair.kid,
      metadata: { key_id: pair.kid, kind: "signing_key", previous_key_id: previous.kid },
      data: {
        key_id: pair.kid,
        previous_key_id: previous.kid,
        previous_key_expires_at: expiresAt.toISOString(),
      },
    });
    return { kid: pair.kid, previousKid: previous.kid, previousExpiresAt: expiresAt };
  }

  return {
    /**
     * Creates a key and makes it the active one; this does not count as a rotation.
     * @throws {invalid_algorithm} when the algorithm is not supported
     * @throws {conflict} when the organization has 10 valid keys
     */
    async create(
      context: CallerContext,
      orgUuid: string,
      { algorithm: name, description }: { algorithm: string; description: string },
    ): Promise<KeyRow> {
      const algorithm = readAlgorithm(name);
      if (algorithm === undefined) throw keyErrors.invalidAlgorithm();
      replaceable(orgUuid, await presentKeys(orgUuid));
      // Outside the transaction: generating an RSA key takes seconds.
      const pair = await signing.generate(algorithm);
      return context.transaction(async (tx) => {
        await store.lockKeys(tx, orgUuid);
        const previous = replaceable(orgUuid, await store.validKeys(tx, orgUuid, dateOf(clock)));
        await replace(tx, orgUuid, previous, pair, { description, rotation: false });
        await events.emit(tx, EVENTS["signing_key.created"], {
          by: causedBy(context),
          orgUuid,
          resourceId: pair.kid,
          metadata: { key_id: pair.kid, algorithm },
        });
        const created = (await store.validKeys(tx, orgUuid, dateOf(clock))).find((key) => key.kid === pair.kid);
        if (created === undefined) throw new Error("a signing key that was just inserted is missing");
        return created;
      });
    },

    /** Keys of the key set, newest first: those that are valid, or have signed something that has not expired. */
    list: (orgUuid: string): Promise<KeyRow[]> => store.listKeys(database, orgUuid, dateOf(clock)),

    /**
     * Creates a key of the active key's algorithm and makes it the active one.
     * @throws {rotation_in_progress} until the previous rotation's overlap ends
     * @throws {conflict} when the organization has 10 valid keys
     */
    async rotate(context: CallerContext, orgUuid: string): Promise<Rotation> {
      // Ends: every change of the algorithm makes a key, and an organization has at most 10.
      for (;;) {
        const { algorithm } = rotatable(orgUuid, await presentKeys(orgUuid));
        const pair = await signing.generate(algorithm);
        try {
          return await context.transaction((tx) => rotateTo(context, tx, orgUuid, pair));
        } catch (error) {
          if (!(error instanceof AlgorithmChanged)) throw error;
        }
      }
    },

    /**
     * Deletes a key; nothing it signed is accepted afterwards.
     * @throws {key_not_found} when the organization has no such key
     * @throws {active_key_exists} when it is the active key
     */
    remove: (context: CallerContext, orgUuid: string, kid: string): Promise<void> =>
      context.transaction(async (tx) => {
        await store.lockKeys(tx, orgUuid);
        const found = await store.findKey(tx, orgUuid, dateOf(clock), kid);
        if (found === undefined) throw keyErrors.notFound();
        if (found.active) throw keyErrors.active();
        await store.deleteKey(tx, kid);
        await tx.emit({ topic: KEY_OVERLAP, payload: { key_id: kid } });
        await events.emit(tx, EVENTS["signing_key.deleted"], {
          by: causedBy(context),
          orgUuid,
          resourceId: kid,
          metadata: { key_id: kid },
        });
      }),
  };
}
