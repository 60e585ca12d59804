import type { Page } from "../../platform/db/paging.ts";
import type { Caller } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Clock } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import type { Random } from "../../platform/random.ts";
import { personBehind } from "../access/index.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import * as store from "./api-key-store.ts";
import type { ApiKeyRow, NewApiKey } from "./api-key-store.ts";
import { recordRevokedKey } from "./ending.ts";
import { credentialErrors } from "./errors.ts";
import { DAY_MS, DEFAULT_DAYS, LISTED_MS, MAX_API_KEYS, mayGrant, unknownScopes } from "./rules.ts";
import { newSecret } from "./secret.ts";
import { lockCredentials } from "./store.ts";

/** Dependencies of managing credentials. */
export interface ManageDeps {
  database: Database;
  clock: Clock;
  random: Pick<Random, "uuid" | "int">;
  events: Pick<Events, "emit">;
  /** Middle of the visible prefix: `live`, or `dev` in the development profile. */
  environment: string;
}

/** A key to create. */
export interface ApiKeyRequest {
  name: string;
  scopes: string[];
  expiresInDays: number | undefined;
}

/** Creating, listing and revoking API keys (decisions 6.4). */
export function createApiKeys({ database, clock, random, events, environment }: ManageDeps) {
  /**
   * The person or service identity a new key belongs to, the key with which it is created, and its expiry: a key
   * created with another key expires no later than that.
   */
  async function originOf(
    tx: Tx,
    caller: Caller,
    wanted: Date,
  ): Promise<Pick<NewApiKey, "madeBy" | "madeWith" | "expiresAt">> {
    const { type, id } = caller.principal;
    if (type === "automation_token" || type === "svid")
      return { madeBy: { identity: id }, madeWith: null, expiresAt: wanted };
    if (type !== "api_key")
      return { madeBy: { person: await personBehind(tx, caller) }, madeWith: null, expiresAt: wanted };
    const parent = await store.keepKey(tx, id, dateOf(clock));
    if (parent === undefined) throw errors.unauthorized();
    const expiresAt = wanted < parent.expiresAt ? wanted : parent.expiresAt;
    return { madeBy: parent.madeBy, madeWith: id, expiresAt };
  }

  /** @throws {validation_error} when there are no scopes, or unknown ones */
  function validateScopes(scopes: readonly string[]): void {
    const [unknown] = unknownScopes(scopes);
    const message = "There is no such scope; use read:<resource>, write:<resource>, admin or vault:write.";
    if (unknown !== undefined)
      throw errors.validation({ fields: [{ field: `scopes[${scopes.indexOf(unknown)}]`, code: "in", message }] });
    if (scopes.length === 0)
      throw errors.validation({ fields: [{ field: "scopes", code: "required", message: "is required" }] });
  }

  return {
    /**
     * Creates an API key. Its secret is returned only here.
     * @throws {validation_error} when there are no scopes, or unknown ones
     * @throws {forbidden} when the caller does not have a scope themselves
     * @throws {conflict} when the organization has 1,000 live keys
     * @throws {unauthorized} when the caller's credential or membership has ended meanwhile
     */
    async createApiKey(
      context: CallerContext,
      orgUuid: string,
      { name, scopes, expiresInDays }: ApiKeyRequest,
    ): Promise<{ key: ApiKeyRow; secret: string }> {
      validateScopes(scopes);
      if (!mayGrant(context.caller, scopes)) throw credentialErrors.beyondPower();
      return context.transaction(async (tx) => {
        const at = dateOf(clock);
        await lockCredentials(tx, orgUuid);
        if ((await store.countLiveKeys(tx, orgUuid, at)) >= MAX_API_KEYS) throw credentialErrors.tooManyKeys();
        const origin = await originOf(tx, context.caller, dateOf(clock, (expiresInDays ?? DEFAULT_DAYS) * DAY_MS));
        const keyId = random.uuid();
        const { text, hash, prefix, last4 } = newSecret(random, `atr_${environment}`, keyId);
        const { expiresAt, madeWith } = origin;
        const shown = { keyId, name, prefix, last4, scopes, createdAt: at, expiresAt };
        if (!(await store.insertApiKey(tx, { ...shown, ...origin, orgUuid, hash }))) throw errors.unauthorized();
        await events.emit(tx, EVENTS["api_key.created"], {
          by: causedBy(context),
          orgUuid,
          resourceId: keyId,
          metadata: {
            kind: "api_key",
            key_id: keyId,
            name,
            scopes,
            ...(madeWith === null ? {} : { made_with: madeWith }),
          },
          data: { key_id: keyId, name, scopes },
        });
        return { key: { ...shown, revokedAt: null, lastUsedAt: null }, secret: text };
      });
    },

    /** API keys, newest first, with those revoked in the last 30 days. */
    listApiKeys: (orgUuid: string, page: Page) => store.apiKeysOf(database, orgUuid, dateOf(clock, -LISTED_MS), page),

    /**
     * Revokes a key and the keys that were created with it.
     * @throws {not_found} when there is no such live key
     */
    revokeApiKey: (context: CallerContext, orgUuid: string, keyId: string): Promise<void> =>
      context.transaction(async (tx) => {
        if (!(await store.revokeApiKey(tx, orgUuid, keyId, dateOf(clock)))) throw credentialErrors.keyNotFound();
        const by = causedBy(context);
        await recordRevokedKey(events, tx, by, orgUuid, keyId);
        for (const child of await store.revokeKeysMadeWith(tx, keyId, dateOf(clock)))
          await recordRevokedKey(events, tx, by, orgUuid, child, { reason: "made_with_revoked", made_with: keyId });
      }),
  };
}
