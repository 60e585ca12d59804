import type { Caller } from "../../platform/caller.ts";
import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import { constantTimeEqual, hashToken } from "../../platform/crypto/opaque.ts";
import type { Database, Judge } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import type { Access, OrgStanding } from "../access/index.ts";
import { createKeyHolds } from "./key-holds.ts";
import { readSecret } from "./secret.ts";
import * as store from "./store.ts";

/** What checking credentials is made of. */
export interface AuthenticateDeps {
  database: Database;
  clock: Clock;
  access: Pick<Access, "standing" | "grants">;
}

/** What every credential of an organization is not. */
const nobody = {
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
 * The callers behind API keys and SCIM tokens, asked of the database on every request. A key has its scopes within
 * its maker's present power: a demotion reaches it at once, and whoever is no member any more has none. Only what was
 * accepted counts as a use.
 */
export function createAuthenticate({ database, clock, access }: AuthenticateDeps) {
  /** Whether the key and the power of its maker still hold. */
  function judgeKey(
    keyId: string,
    maker: string,
    { uuid, membershipVersion }: OrgStanding,
    platformAdmin: boolean,
  ): Judge {
    return (tx, how) =>
      store.judgeApiKey(tx, [keyId, maker, uuid, membershipVersion, platformAdmin, dateOf(clock), how === "change"]);
  }

  const keyHolds = createKeyHolds({ database, clock });

  return {
    /** Whether a key that was accepted before may still be used; asked in batches. Throws `unauthorized`. */
    async keyHolds(token: string): Promise<void> {
      const read = readSecret(token);
      if (read === undefined) throw errors.unauthorized();
      await keyHolds(read.id);
    },

    /** Whether a bearer looks like an API key. */
    isApiKey: (token: string): boolean => token.startsWith("atr_"),

    /** The caller behind an API key. Throws `unauthorized`, with no distinction. */
    async apiKey(token: string): Promise<Caller> {
      const read = readSecret(token);
      const row = read?.kind === "atr" ? await store.livingApiKey(database, read.id) : undefined;
      if (
        read === undefined ||
        row === undefined ||
        !constantTimeEqual(row.hash, hashToken(token)) ||
        row.expires_at.getTime() <= clock.now()
      )
        throw errors.unauthorized();
      const caller = await database.transaction(
        async (tx) => {
          const standing = await access.standing(tx, row.made_by, row.org_uuid);
          if (!standing?.org) throw errors.unauthorized();
          const { org } = standing;
          const grants = await access.grants(tx, standing);
          const hasAdminRole = org.isOwner || org.role === "admin";
          const scopes = new Set(row.scopes);
          return {
            ...nobody,
            principal: { type: "api_key" as const, id: read.id },
            countsAs: `user:${row.made_by}`,
            orgUuid: org.uuid,
            orgName: org.name,
            roles: grants.roles,
            isAdmin: hasAdminRole || standing.isPlatformAdmin,
            canWriteVault: hasAdminRole && scopes.has("vault:write"),
            entitlements: grants.entitlements,
            appAdmin: grants.app_admin,
            sandbox: grants.sandbox,
            scopes,
            expiresAt: Math.floor(row.expires_at.getTime() / 1000),
            judge: judgeKey(read.id, row.made_by, org, standing.isPlatformAdmin),
          };
        },
        { orgUuid: row.org_uuid },
      );
      await store.noteKeyUse(database, read.id, row.last_used_at, dateOf(clock));
      return caller;
    },

    /** The caller behind a SCIM token. Throws `unauthorized`, with no distinction. */
    async scimToken(token: string): Promise<Caller> {
      const read = readSecret(token);
      const row = read?.kind === "scim" ? await store.livingScimToken(database, read.id) : undefined;
      if (
        read === undefined ||
        row === undefined ||
        !constantTimeEqual(row.hash, hashToken(token)) ||
        row.expires_at.getTime() <= clock.now()
      )
        throw errors.unauthorized();
      await store.noteTokenUse(database, read.id, row.last_used_at, dateOf(clock));
      return {
        ...nobody,
        principal: { type: "scim_token", id: read.id },
        orgUuid: row.org_uuid,
        orgName: row.org_name,
        roles: [],
        isAdmin: false,
        entitlements: [],
        appAdmin: [],
        sandbox: false,
        scopes: null,
        expiresAt: Math.floor(row.expires_at.getTime() / 1000),
        judge: (tx, how) => store.judgeScimToken(tx, [read.id, dateOf(clock), how === "change"]),
      };
    },
  };
}
