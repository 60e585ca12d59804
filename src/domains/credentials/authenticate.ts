import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/types.ts";
import type { Liveness } from "../liveness/index.ts";
import { reauthorizeApiKey } from "./api-key-store.ts";
import { createOpaqueAuthenticator, NOT_A_PERSON } from "./opaque.ts";
import { reauthorizeScimToken } from "./scim-token-store.ts";
import { recordKeyUse, recordTokenUse } from "./store.ts";
import { createUseRecorder } from "./uses.ts";

/** Dependencies of authentication. */
export interface AuthenticateDeps {
  database: Pick<Database, "identifying">;
  clock: Clock;
  liveness: Liveness;
}

/**
 * Authenticates API keys and SCIM tokens. A key has its scopes within its creator's present power: a demotion applies
 * at once, and the key of a former member is not valid.
 */
export function createAuthenticate({ database, clock, liveness }: AuthenticateDeps) {
  return {
    apiKeys: createOpaqueAuthenticator(
      liveness,
      "atr",
      "api_key",
      (keyId, row) => {
        const hasAdminRole = row.is_owner || row.role === "admin";
        const scopes = new Set(row.scopes);
        return {
          ...NOT_A_PERSON,
          principal: { type: "api_key", id: keyId },
          countsAs: row.made_by === null ? `service_identity:${row.made_by_identity}` : `user:${row.made_by}`,
          orgUuid: row.org_uuid,
          orgName: row.org_name,
          roles: [row.role],
          isAdmin: hasAdminRole || row.is_platform_admin,
          canWriteVault: hasAdminRole && scopes.has("vault:write"),
          entitlements: row.entitlements,
          appAdmin: row.app_admin,
          sandbox: row.sandbox,
          scopes,
          expiresAt: Math.floor(row.until / 1000),
          // The key and its creator's power again, in the transaction that writes.
          reauthorize: (tx, how) => reauthorizeApiKey(tx, keyId, row, dateOf(clock), how === "change"),
        };
      },
      createUseRecorder(clock, (keyId, at) => recordKeyUse(database, keyId, at)),
    ),

    scimTokens: createOpaqueAuthenticator(
      liveness,
      "scim",
      "scim_token",
      (tokenId, row) => ({
        ...NOT_A_PERSON,
        principal: { type: "scim_token", id: tokenId },
        orgUuid: row.org_uuid,
        orgName: row.org_name,
        roles: [],
        isAdmin: false,
        entitlements: [],
        appAdmin: [],
        sandbox: false,
        scopes: null,
        expiresAt: Math.floor(row.until / 1000),
        reauthorize: (tx) => reauthorizeScimToken(tx, tokenId, dateOf(clock)),
      }),
      createUseRecorder(clock, (tokenId, at) => recordTokenUse(database, tokenId, at)),
    ),
  };
}
