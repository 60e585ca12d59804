import type { Caller, RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import { signJwt } from "../../platform/crypto/jwt.ts";
import type { KeyAlgorithm, NewKeyPair } from "../../platform/crypto/jwk.ts";
import type { Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import type { Random } from "../../platform/random.ts";
import { actorOf } from "../audit-record/index.ts";
import type { AuditEventType } from "../event-catalogue/index.ts";
import type { Audit } from "../auth-events/index.ts";
import { keyErrors } from "./errors.ts";
import { KEY_OVERLAP } from "./events.ts";
import * as store from "./manage-store.ts";
import type { KeyRow } from "./manage-store.ts";
import { MOST_KEYS, readAlgorithm, readPayload } from "./rules.ts";
import type { KeysDeps as SigningDeps, Signing } from "./signing.ts";

/** What managing signing keys is made of. */
export interface ManageDeps extends SigningDeps {
  random: Pick<Random, "uuid">;
  audit: Pick<Audit, "record">;
  /** Tells the webhooks of an organization. */
  announce(
    tx: Tx,
    event: { type: "signing_key.rotated"; orgUuid: string; data: Record<string, unknown> },
  ): Promise<void>;
  config: SigningDeps["config"] & {
    /** Claim `iss` of what is signed: the public URL of the service. */
    baseUrl: string;
  };
}

/** What `/sign` gives. */
export interface Signed {
  token: string;
  key: KeyRow;
}

/** Header `typ` of what `/sign` makes; never accepted as a bearer (decisions 6.3). */
const SIGNED_TYPE = "atrium-signed+jwt";

/** Creating, rotating, deleting and using an organization's signing keys (decisions 6.1, 6.3). */
export function createManage(deps: ManageDeps, signing: Signing) {
  const { database, clock, random, config } = deps;

  async function audited(
    tx: Tx,
    type: AuditEventType,
    orgUuid: string,
    caller: Caller,
    info: RequestInfo,
    kid: string,
    metadata: Record<string, unknown> = {},
  ): Promise<void> {
    await deps.audit.record(tx, {
      type,
      outcome: "success",
      userUuid: caller.userUuid,
      orgUuid,
      info,
      metadata: { key_id: kid, ...metadata },
      actor: actorOf(caller),
      resource: { type: "signing_key", id: kid },
    });
  }

  /** Makes `pair` the active key; the present one goes on verifying for the overlap. */
  async function succeed(
    tx: Tx,
    orgUuid: string,
    pair: NewKeyPair,
    description: string,
    rotation: boolean,
  ): Promise<{ previous: KeyRow; expiresAt: Date }> {
    const living = await store.livingKeysIn(tx, orgUuid, dateOf(clock));
    const previous = living.find((key) => key.active);
    if (previous === undefined) throw new Error(`no active signing key for ${orgUuid}`);
    if (living.length >= MOST_KEYS) throw keyErrors.tooMany();
    const expiresAt = dateOf(clock, config.keyOverlapMs);
    await store.replaceKey(tx, previous.kid, expiresAt, rotation);
    await signing.keepIn(tx, orgUuid, pair, description);
    await tx.emit({ topic: KEY_OVERLAP, payload: { key_id: previous.kid } });
    return { previous, expiresAt };
  }

  async function shown(orgUuid: string, kid: string): Promise<KeyRow> {
    const found = (await store.shownKeys(database, orgUuid, dateOf(clock))).find((key) => key.kid === kid);
    if (found === undefined) throw keyErrors.notFound();
    return found;
  }

  return {
    /** Makes a new active key; it is no rotation. Errors: 400 invalid_algorithm, 409 conflict beyond 10 living keys. */
    async create(
      caller: Caller,
      info: RequestInfo,
      orgUuid: string,
      algorithm: string,
      description: string,
    ): Promise<KeyRow> {
      const wanted: KeyAlgorithm | undefined = readAlgorithm(algorithm);
      if (wanted === undefined) throw keyErrors.invalidAlgorithm();
      const pair = await signing.generate(wanted);
      return database.transaction(async (tx) => {
        await store.lockKeys(tx, orgUuid);
        await succeed(tx, orgUuid, pair, description, false);
        await audited(tx, "signing_key.created", orgUuid, caller, info, pair.kid, { algorithm: wanted });
        const made = (await store.livingKeysIn(tx, orgUuid, dateOf(clock))).find((key) => key.kid === pair.kid);
        if (made === undefined) throw new Error("a key that was just made is not there");
        return made;
      }, caller);
    },

    /** Keys of the key set, newest first: valid, or with something signed that has not expired. */
    list: (orgUuid: string): Promise<KeyRow[]> => store.shownKeys(database, orgUuid, dateOf(clock)),

    /** A new key of the same algorithm becomes active. Error: 422 rotation_in_progress. */
    async rotate(
      caller: Caller,
      info: RequestInfo,
      orgUuid: string,
    ): Promise<{ kid: string; previousKid: string; previousExpiresAt: Date }> {
      const active = (await store.shownKeys(database, orgUuid, dateOf(clock))).find((key) => key.active);
      if (active === undefined) throw new Error(`no active signing key for ${orgUuid}`);
      const pair = await signing.generate(active.algorithm);
      return database.transaction(async (tx) => {
        await store.lockKeys(tx, orgUuid);
        if (await store.isRotating(tx, orgUuid, dateOf(clock))) throw keyErrors.rotationInProgress();
        const { previous, expiresAt } = await succeed(tx, orgUuid, pair, "rotated", true);
        const data = {
          key_id: pair.kid,
          previous_key_id: previous.kid,
          previous_key_expires_at: expiresAt.toISOString(),
        };
        await audited(tx, "key.rotated", orgUuid, caller, info, pair.kid, {
          kind: "signing_key",
          previous_key_id: previous.kid,
        });
        await deps.announce(tx, { type: "signing_key.rotated", orgUuid, data });
        return { kid: pair.kid, previousKid: previous.kid, previousExpiresAt: expiresAt };
      }, caller);
    },

    /** Removes a key and with it everything it signed. Errors: 404 key_not_found, 409 active_key_exists. */
    remove: (caller: Caller, info: RequestInfo, orgUuid: string, kid: string): Promise<void> =>
      database.transaction(async (tx) => {
        await store.lockKeys(tx, orgUuid);
        const found = await store.shownKeyIn(tx, orgUuid, dateOf(clock), kid);
        if (found === undefined) throw keyErrors.notFound();
        if (found.active) throw keyErrors.active();
        await store.deleteKey(tx, kid);
        await tx.emit({ topic: KEY_OVERLAP, payload: { key_id: kid } });
        await audited(tx, "signing_key.deleted", orgUuid, caller, info, kid);
      }, caller),

    /** Signs claims with the active key. Errors: 404 key_not_found, 409 conflict, 400 validation_error. */
    async sign(
      caller: Caller,
      info: RequestInfo,
      orgUuid: string,
      kid: string,
      payload: Readonly<Record<string, unknown>>,
    ): Promise<Signed> {
      const now = Math.floor(clock.now() / 1000);
      const read = readPayload(payload, now);
      if ("violations" in read) throw errors.validation({ fields: read.violations });
      const key = await shown(orgUuid, kid);
      if (!key.active) throw keyErrors.notActive();
      return database.transaction(async (tx) => {
        const signer = await signing.active(tx, orgUuid, new Date(read.exp * 1000));
        if (signer.kid !== kid) throw keyErrors.notActive();
        const token = await signJwt(signer, SIGNED_TYPE, {
          ...payload,
          exp: read.exp,
          iss: config.baseUrl,
          iat: now,
          jti: random.uuid(),
          org: orgUuid,
        });
        await audited(tx, "signing_key.used", orgUuid, caller, info, kid);
        return { token, key };
      }, caller);
    },
  };
}
