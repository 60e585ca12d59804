import type { Caller } from "../../platform/caller.ts";
import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import { constantTimeEqual, hashToken } from "../../platform/crypto/opaque.ts";
import type { Database, Reauthorize } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import type { Access, OrgStanding } from "../access/index.ts";
import { createKeyHolds } from "./key-holds.ts";
import { readSecret } from "./secret.ts";
import { findApiKey, reauthorizeApiKey } from "./api-key-store.ts";
import { findScimToken, reauthorizeScimToken } from "./scim-token-store.ts";
import { recordKeyUse, recordTokenUse } from "./store.ts";

/** Dependencies of authentication. */
export interface AuthenticateDeps {
  database: Database;
  clock: Clock;
  access: Pick<Access, "standing" | "grants">;
}

/** Members of a caller that no credential of an organization has. */
const NOT_A_PERSON = {
  userUuid: null,
  email: null,
  sessionId: null,
  isOwner: false,
  isPlatformAdmin: false,
  isSuperuser: false,
  isOperator: false,
  canWriteVault: false,
  elevated: false,
  claims: null,
} as const;

/**
 * Authenticates API keys and SCIM tokens; reads the database for every request. A key has its scopes within its
 * creator's present power: a demotion applies at once, and the key of a former member is not valid. Only an accepted
 * credential counts as used.
 */
export function createAuthenticate({ database, clock, access }: AuthenticateDeps) {
  /** Checks a key and its creator's power again, in the transaction that writes. */
  function reauthorizationOf(
    keyId: string,
    creator: string,
    { uuid, membershipVersion }: OrgStanding,
    platformAdmin: boolean,
  ): Reauthorize {
    return (tx, how) =>
      reauthorizeApiKey(tx, [keyId, creator, uuid, membershipVersion, platformAdmin, dateOf(clock), how === "change"]);
  }

  const keyHolds = createKeyHolds({ database, clock });

  return {
    /**
     * Checks in batches that a key that was accepted before is still valid.
     * @throws {unauthorized} otherwise
     */
    async keyHolds(token: string): Promise<void> {
      const read = readSecret(token);
      if (read === undefined) throw errors.unauthorized();
      await keyHolds(read.id);
    },

    /** Whether a bearer token has the form of an API key. */
    isApiKey: (token: string): boolean => token.startsWith("atr_"),

    /**
     * The caller of an API key.
     * @throws {unauthorized} when it is unknown, revoked or expired, without a distinction
     */
    async apiKey(token: string): Promise<Caller> {
      const read = readSecret(token);
      const row = read?.kind === "atr" ? await findApiKey(database, read.id) : undefined;
      if (
        read === undefined ||
        row === undefined ||
        !constantTimeEqual(row.hash, hashToken(token)) ||
        row.expiresAt.getTime() <= clock.now()
      )
        throw errors.unauthorized();
      const caller = await database.transaction(
        async (tx) => {
          const standing = await access.standing(tx, row.madeBy, row.orgUuid);
          if (!standing?.org) throw errors.unauthorized();
          const { org } = standing;
          const grants = await access.grants(tx, standing);
          const hasAdminRole = org.isOwner || org.role === "admin";
          const scopes = new Set(row.scopes);
          return {
            ...NOT_A_PERSON,
            principal: { type: "api_key" as const, id: read.id },
            countsAs: `user:${row.madeBy}`,
            orgUuid: org.uuid,
            orgName: org.name,
            roles: grants.roles,
            isAdmin: hasAdminRole || standing.isPlatformAdmin,
            canWriteVault: hasAdminRole && scopes.has("vault:write"),
            entitlements: grants.entitlements,
            appAdmin: grants.app_admin,
            sandbox: grants.sandbox,
            scopes,
            expiresAt: Math.floor(row.expiresAt.getTime() / 1000),
            reauthorize: reauthorizationOf(read.id, row.madeBy, org, standing.isPlatformAdmin),
          };
        },
        { orgUuid: row.orgUuid },
      );
      await recordKeyUse(database, read.id, row.lastUsedAt, dateOf(clock));
      return caller;
    },

    /**
     * The caller of a SCIM token.
     * @throws {unauthorized} when it is unknown, revoked or expired, without a distinction
     */
    async scimToken(token: string): Promise<Caller> {
      const read = readSecret(token);
      const row = read?.kind === "scim" ? await findScimToken(database, read.id) : undefined;
      if (
        read === undefined ||
        row === undefined ||
        !constantTimeEqual(row.hash, hashToken(token)) ||
        row.expiresAt.getTime() <= clock.now()
      )
        throw errors.unauthorized();
      await recordTokenUse(database, read.id, row.lastUsedAt, dateOf(clock));
      return {
        ...NOT_A_PERSON,
        principal: { type: "scim_token", id: read.id },
        orgUuid: row.orgUuid,
        orgName: row.orgName,
        roles: [],
        isAdmin: false,
        entitlements: [],
        appAdmin: [],
        sandbox: false,
        scopes: null,
        expiresAt: Math.floor(row.expiresAt.getTime() / 1000),
        reauthorize: (tx, how) => reauthorizeScimToken(tx, [read.id, dateOf(clock), how === "change"]),
      };
    },
  };
}
