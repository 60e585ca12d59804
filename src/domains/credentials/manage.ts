import type { Caller, RequestInfo } from "../../platform/caller.ts";
import type { Clock } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import type { Random } from "../../platform/random.ts";
import { personBehind } from "../access/index.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { Cause, Events } from "../event-catalogue/index.ts";
import { credentialErrors } from "./errors.ts";
import { DAY_MS, LISTED_MS, MOST_API_KEYS, MOST_SCIM_TOKENS, USUAL_DAYS, mayGrant, unknownScopes } from "./rules.ts";
import { newSecret } from "./secret.ts";
import * as store from "./store.ts";
import type { ApiKeyRow, ScimTokenRow } from "./store.ts";

/** What credentials are made of. */
export interface ManageDeps {
  database: Database;
  clock: Clock;
  random: Pick<Random, "uuid" | "int">;
  events: Events;
  /** Middle of the visible prefix: `live`, or `dev` in the development profile. */
  environment: string;
}

/** Whose doing it is that keys end with a membership, and why in one word. */
interface EndedBy {
  caller: Caller;
  info: RequestInfo;
  reason: string;
}

/** A key to make. */
export interface ApiKeyRequest {
  name: string;
  scopes: string[];
  expiresInDays: number | undefined;
}

/** Making, listing and ending API keys and SCIM tokens (decisions 6.4). */
export function createManage(deps: ManageDeps) {
  const { database, clock, random, events, environment } = deps;

  /** Records the end of an API key. */
  function keyRevoked(
    tx: Tx,
    by: Cause,
    orgUuid: string,
    keyId: string,
    why: { reason?: string; made_with?: string } = {},
  ): Promise<void> {
    return events.emit(tx, EVENTS["api_key.revoked"], {
      by,
      orgUuid,
      resourceId: keyId,
      metadata: { kind: "api_key", key_id: keyId, ...why },
      data: { key_id: keyId },
    });
  }

  /**
   * Whom a new key belongs to, the key that makes it, and when it ends: a key made by a key ends no later than that.
   */
  async function lineOf(
    tx: Tx,
    caller: Caller,
    wanted: Date,
  ): Promise<{ made_by: string; made_with: string | null; expires_at: Date }> {
    if (caller.principal.type !== "api_key")
      return { made_by: await personBehind(tx, caller), made_with: null, expires_at: wanted };
    const parent = await store.keepKey(tx, caller.principal.id, dateOf(clock));
    if (parent === undefined) throw errors.unauthorized();
    return {
      made_by: parent.made_by,
      made_with: caller.principal.id,
      expires_at: wanted < parent.expires_at ? wanted : parent.expires_at,
    };
  }

  return {
    /**
     * A new API key; it is in this answer and never again. Errors: 400 validation_error, 403 forbidden, 409 conflict
     * beyond 1,000 live ones.
     */
    async createApiKey(
      context: CallerContext,
      orgUuid: string,
      request: ApiKeyRequest,
    ): Promise<{ key: ApiKeyRow; secret: string }> {
      const [unknown] = unknownScopes(request.scopes);
      if (unknown !== undefined) {
        throw errors.validation({
          fields: [
            {
              field: `scopes[${request.scopes.indexOf(unknown)}]`,
              code: "in",
              message: "There is no such scope; use read:<resource>, write:<resource>, admin or vault:write.",
            },
          ],
        });
      }
      if (request.scopes.length === 0)
        throw errors.validation({ fields: [{ field: "scopes", code: "required", message: "is required" }] });
      if (!mayGrant(context.caller, request.scopes)) throw credentialErrors.beyondPower();
      return context.transaction(async (tx) => {
        const at = dateOf(clock);
        await store.lockCredentials(tx, orgUuid);
        if ((await store.countLiveKeys(tx, orgUuid, at)) >= MOST_API_KEYS) throw credentialErrors.tooManyKeys();
        const line = await lineOf(tx, context.caller, dateOf(clock, (request.expiresInDays ?? USUAL_DAYS) * DAY_MS));
        const keyId = random.uuid();
        const { text, hash, prefix, last4 } = newSecret(random, `atr_${environment}`, keyId);
        const key: ApiKeyRow = {
          key_id: keyId,
          name: request.name,
          prefix,
          last4,
          scopes: request.scopes,
          created_at: at,
          expires_at: line.expires_at,
          revoked_at: null,
          last_used_at: null,
        };
        if (!(await store.insertApiKey(tx, { ...key, ...line, org_uuid: orgUuid, hash }))) throw errors.unauthorized();
        const madeWith = line.made_with === null ? {} : { made_with: line.made_with };
        await events.emit(tx, EVENTS["api_key.created"], {
          by: causedBy(context),
          orgUuid,
          resourceId: keyId,
          metadata: { kind: "api_key", key_id: keyId, name: key.name, scopes: key.scopes, ...madeWith },
          data: { key_id: keyId, name: key.name, scopes: key.scopes },
        });
        return { key, secret: text };
      });
    },

    /** API keys, newest first; revoked ones for 30 days more. */
    listApiKeys: (orgUuid: string, limit: number, offset: number) =>
      store.apiKeysOf(database, orgUuid, dateOf(clock, -LISTED_MS), limit, offset),

    /** Ends a key at once, and with it the keys it made. Error: 404 not_found, also the second time. */
    revokeApiKey: (context: CallerContext, orgUuid: string, keyId: string): Promise<void> =>
      context.transaction(async (tx) => {
        if (!(await store.revokeApiKey(tx, orgUuid, keyId, dateOf(clock)))) throw credentialErrors.keyNotFound();
        const by = causedBy(context);
        await keyRevoked(tx, by, orgUuid, keyId);
        for (const child of await store.revokeKeysMadeWith(tx, keyId, dateOf(clock)))
          await keyRevoked(tx, by, orgUuid, child, { reason: "made_with_revoked", made_with: keyId });
      }),

    /**
     * Ends the keys somebody made in an organization, in the transaction that ends their membership: coming back does
     * not bring them back.
     */
    async endWithMembership(
      tx: Tx,
      orgUuid: string,
      userUuid: string,
      { caller, info, reason }: EndedBy,
    ): Promise<void> {
      for (const keyId of await store.revokeKeysOf(tx, orgUuid, userUuid, dateOf(clock)))
        await keyRevoked(tx, causedBy({ caller, info }), orgUuid, keyId, { reason });
    },

    /** Ends the keys and tokens of an organization, in the transaction that ends it. */
    endWithOrganization: (tx: Tx, orgUuid: string): Promise<void> => store.revokeAllOf(tx, orgUuid, dateOf(clock)),

    /** A new SCIM token; it is in this answer and never again. Error: 409 conflict beyond 5 living ones. */
    createScimToken: (
      context: CallerContext,
      orgUuid: string,
      name: string,
      expiresInDays: number | undefined,
    ): Promise<{ token: ScimTokenRow; secret: string }> =>
      context.transaction(async (tx) => {
        const tokenId = random.uuid();
        const { text, hash } = newSecret(random, `scim_${environment}`, tokenId);
        const token: ScimTokenRow = {
          token_id: tokenId,
          name,
          created_at: dateOf(clock),
          expires_at: dateOf(clock, (expiresInDays ?? USUAL_DAYS) * DAY_MS),
          revoked_at: null,
          last_used_at: null,
        };
        if (!(await store.insertScimToken(tx, { ...token, org_uuid: orgUuid, hash }, MOST_SCIM_TOKENS)))
          throw credentialErrors.tooManyTokens();
        await events.emit(tx, EVENTS["scim_token.created"], {
          by: causedBy(context),
          orgUuid,
          resourceId: tokenId,
          metadata: { kind: "scim_token", token_id: tokenId, name },
        });
        return { token, secret: text };
      }),

    /** SCIM tokens, newest first; revoked ones for 30 days more. */
    listScimTokens: (orgUuid: string, limit: number, offset: number) =>
      store.scimTokensOf(database, orgUuid, dateOf(clock, -LISTED_MS), limit, offset),

    /** Ends a SCIM token at once. Error: 404 not_found, also the second time. */
    revokeScimToken: (context: CallerContext, orgUuid: string, tokenId: string): Promise<void> =>
      context.transaction(async (tx) => {
        if (!(await store.revokeScimToken(tx, orgUuid, tokenId, dateOf(clock)))) throw credentialErrors.tokenNotFound();
        await events.emit(tx, EVENTS["scim_token.revoked"], {
          by: causedBy(context),
          orgUuid,
          resourceId: tokenId,
          metadata: { kind: "scim_token", token_id: tokenId },
        });
      }),
  };
}
