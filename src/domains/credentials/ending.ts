import { dateOf } from "../../platform/clock.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import { EVENTS } from "../event-catalogue/index.ts";
import type { Cause, EndedBy, Events } from "../event-catalogue/index.ts";
import { revokeKeysMadeBy, revokeKeysOf, revokeKeysOfIdentities, revokeKeysOfIdentity } from "./api-key-store.ts";
import { revokeScimTokensOf } from "./scim-token-store.ts";
import { revokeAllOf } from "./store.ts";

/** Records that an API key was revoked. */
export function recordRevokedKey(
  events: Pick<Events, "emit">,
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

/** Ends credentials in the transaction that ends or resets their creator, membership or organization. */
export function createEnding({ clock, events }: { clock: Clock; events: Pick<Events, "emit"> }) {
  return {
    /** Revokes every API key of a person, in any organization. */
    async keysOf(tx: Tx, madeBy: string, { reason, by }: EndedBy): Promise<void> {
      for (const { keyId, orgUuid } of await revokeKeysMadeBy(tx, madeBy, dateOf(clock)))
        await recordRevokedKey(events, tx, by, orgUuid, keyId, { reason });
    },

    /** Revokes every API key that a service identity made. */
    async keysOfIdentity(tx: Tx, orgUuid: string, identityId: string, { reason, by }: EndedBy): Promise<void> {
      for (const keyId of await revokeKeysOfIdentity(tx, identityId, dateOf(clock)))
        await recordRevokedKey(events, tx, by, orgUuid, keyId, { reason });
    },

    /** Revokes every API key that the service identities of an organization made; these have ended before. */
    async keysOfIdentities(tx: Tx, orgUuid: string, { reason, by }: EndedBy): Promise<void> {
      for (const keyId of await revokeKeysOfIdentities(tx, orgUuid, dateOf(clock)))
        await recordRevokedKey(events, tx, by, orgUuid, keyId, { reason });
    },

    /** Revokes every SCIM token of an organization. */
    async scimTokensOf(tx: Tx, orgUuid: string, { reason, by }: EndedBy): Promise<void> {
      for (const tokenId of await revokeScimTokensOf(tx, orgUuid, dateOf(clock)))
        await events.emit(tx, EVENTS["scim_token.revoked"], {
          by,
          orgUuid,
          resourceId: tokenId,
          metadata: { kind: "scim_token", token_id: tokenId, reason },
        });
    },

    /** Revokes a person's keys in an organization when their membership ends; a later one does not restore them. */
    async withMembership(tx: Tx, orgUuid: string, userUuid: string, { reason, by }: EndedBy): Promise<void> {
      for (const keyId of await revokeKeysOf(tx, orgUuid, userUuid, dateOf(clock)))
        await recordRevokedKey(events, tx, by, orgUuid, keyId, { reason });
    },

    /** Revokes the keys and tokens of an organization when it is deleted. */
    withOrganization: (tx: Tx, orgUuid: string): Promise<void> => revokeAllOf(tx, orgUuid, dateOf(clock)),
  };
}
