import type { RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { Actor } from "../auth-events/index.ts";
import type { ManageDeps } from "./manage.ts";
import { revokeKeysMadeBy, revokeScimTokensOf } from "./store.ts";

/** Who ends credentials, and why in one word, for the audit log. */
export interface EndedBy {
  userUuid: string;
  actor: Actor;
  info: RequestInfo;
  reason: string;
}

/** The end of credentials by what happens to their maker or organization, in the transaction of that. */
export function createEnding({ clock, audit, announce }: Pick<ManageDeps, "clock" | "audit" | "announce">) {
  return {
    /** Revokes every API key a person made, in whatever organization. */
    async keysOf(tx: Tx, madeBy: string, { userUuid, actor, info, reason }: EndedBy): Promise<void> {
      for (const { key_id: id, org_uuid: orgUuid } of await revokeKeysMadeBy(tx, madeBy, dateOf(clock))) {
        const resource = { type: "api_key", id };
        const metadata = { kind: "api_key", key_id: id, reason };
        await audit.record(tx, {
          type: "credential.revoked",
          outcome: "success",
          userUuid,
          orgUuid,
          info,
          actor,
          resource,
          metadata,
        });
        await announce(tx, { type: "api_key.revoked", orgUuid, data: { key_id: id } });
      }
    },

    /** Revokes every SCIM token of an organization. */
    async scimTokensOf(tx: Tx, orgUuid: string, { userUuid, actor, info, reason }: EndedBy): Promise<void> {
      for (const id of await revokeScimTokensOf(tx, orgUuid, dateOf(clock))) {
        const resource = { type: "scim_token", id };
        const metadata = { kind: "scim_token", token_id: id, reason };
        await audit.record(tx, {
          type: "credential.revoked",
          outcome: "success",
          userUuid,
          orgUuid,
          info,
          actor,
          resource,
          metadata,
        });
      }
    },
  };
}
