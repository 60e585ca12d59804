import type { Caller, RequestInfo } from "../../platform/caller.ts";
import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import type { Random } from "../../platform/random.ts";
import { actorOf } from "../auth-events/index.ts";
import type { Audit } from "../auth-events/index.ts";
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
  audit: Pick<Audit, "record">;
  /** Tells the webhooks of an organization. */
  announce(
    tx: Tx,
    event: { type: "api_key.created" | "api_key.revoked"; orgUuid: string; data: Record<string, unknown> },
  ): Promise<void>;
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
  const { database, clock, random, environment } = deps;

  async function audited(
    tx: Tx,
    type: "credential.created" | "credential.revoked",
    kind: "api_key" | "scim_token",
    orgUuid: string,
    caller: Caller,
    info: RequestInfo,
    id: string,
    metadata: Record<string, unknown> = {},
  ): Promise<void> {
    const member = kind === "api_key" ? "key_id" : "token_id";
    await deps.audit.record(tx, {
      type,
      outcome: "success",
      userUuid: caller.userUuid,
      orgUuid,
      info,
      metadata: { kind, [member]: id, ...metadata },
      actor: actorOf(caller),
      resource: { type: kind, id },
    });
  }

  /**
   * The person behind a caller: keys made by keys belong to whoever made the first. Error: 403 forbidden where there is
   * none.
   */
  async function makerOf(tx: Tx, caller: Caller): Promise<string> {
    const maker =
      caller.userUuid ??
      (caller.principal.type === "api_key" ? await store.makerOf(tx, caller.principal.id) : undefined);
    if (maker === undefined) throw errors.forbidden({ message: "Only people, and keys that people made, do this." });
    return maker;
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
      return { made_by: await makerOf(tx, caller), made_with: null, expires_at: wanted };
    const parent = await store.keepKey(tx, caller.principal.id, dateOf(clock));
    if (parent === undefined) throw errors.unauthorized();
    return {
      made_by: parent.made_by,
      made_with: caller.principal.id,
      expires_at: wanted < parent.expires_at ? wanted : parent.expires_at,
    };
  }

  return {
    makerOf,

    /**
     * A new API key; it is in this answer and never again. Errors: 400 validation_error, 403 forbidden, 409 conflict
     * beyond 1,000 live ones.
     */
    async createApiKey(
      caller: Caller,
      info: RequestInfo,
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
      if (!mayGrant(caller, request.scopes)) throw credentialErrors.beyondPower();
      return database.transaction(async (tx) => {
        const at = dateOf(clock);
        await store.lockCredentials(tx, orgUuid);
        if ((await store.countLiveKeys(tx, orgUuid, at)) >= MOST_API_KEYS) throw credentialErrors.tooManyKeys();
        const line = await lineOf(tx, caller, dateOf(clock, (request.expiresInDays ?? USUAL_DAYS) * DAY_MS));
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
        await audited(tx, "credential.created", "api_key", orgUuid, caller, info, keyId, {
          name: key.name,
          scopes: key.scopes,
          ...madeWith,
        });
        await deps.announce(tx, {
          type: "api_key.created",
          orgUuid,
          data: { key_id: keyId, name: key.name, scopes: key.scopes },
        });
        return { key, secret: text };
      }, caller);
    },

    /** API keys, newest first; revoked ones for 30 days more. */
    listApiKeys: (orgUuid: string, limit: number, offset: number) =>
      store.apiKeysOf(database, orgUuid, dateOf(clock, -LISTED_MS), limit, offset),

    /** Ends a key at once, and with it the keys it made. Error: 404 not_found, also the second time. */
    revokeApiKey: (caller: Caller, info: RequestInfo, orgUuid: string, keyId: string): Promise<void> =>
      database.transaction(async (tx) => {
        if (!(await store.revokeApiKey(tx, orgUuid, keyId, dateOf(clock)))) throw credentialErrors.keyNotFound();
        await audited(tx, "credential.revoked", "api_key", orgUuid, caller, info, keyId);
        await deps.announce(tx, { type: "api_key.revoked", orgUuid, data: { key_id: keyId } });
        for (const child of await store.revokeKeysMadeWith(tx, keyId, dateOf(clock))) {
          await audited(tx, "credential.revoked", "api_key", orgUuid, caller, info, child, {
            reason: "made_with_revoked",
            made_with: keyId,
          });
          await deps.announce(tx, { type: "api_key.revoked", orgUuid, data: { key_id: child } });
        }
      }, caller),

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
      for (const keyId of await store.revokeKeysOf(tx, orgUuid, userUuid, dateOf(clock))) {
        await audited(tx, "credential.revoked", "api_key", orgUuid, caller, info, keyId, { reason });
        await deps.announce(tx, { type: "api_key.revoked", orgUuid, data: { key_id: keyId } });
      }
    },

    /** Ends the keys and tokens of an organization, in the transaction that ends it. */
    endWithOrganization: (tx: Tx, orgUuid: string): Promise<void> => store.revokeAllOf(tx, orgUuid, dateOf(clock)),

    /** A new SCIM token; it is in this answer and never again. Error: 409 conflict beyond 5 living ones. */
    createScimToken: (
      caller: Caller,
      info: RequestInfo,
      orgUuid: string,
      name: string,
      expiresInDays: number | undefined,
    ): Promise<{ token: ScimTokenRow; secret: string }> =>
      database.transaction(async (tx) => {
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
        await audited(tx, "credential.created", "scim_token", orgUuid, caller, info, tokenId, { name });
        return { token, secret: text };
      }, caller),

    /** SCIM tokens, newest first; revoked ones for 30 days more. */
    listScimTokens: (orgUuid: string, limit: number, offset: number) =>
      store.scimTokensOf(database, orgUuid, dateOf(clock, -LISTED_MS), limit, offset),

    /** Ends a SCIM token at once. Error: 404 not_found, also the second time. */
    revokeScimToken: (caller: Caller, info: RequestInfo, orgUuid: string, tokenId: string): Promise<void> =>
      database.transaction(async (tx) => {
        if (!(await store.revokeScimToken(tx, orgUuid, tokenId, dateOf(clock)))) throw credentialErrors.tokenNotFound();
        await audited(tx, "credential.revoked", "scim_token", orgUuid, caller, info, tokenId);
      }, caller),
  };
}
