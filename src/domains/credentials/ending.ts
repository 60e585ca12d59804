import type { RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { Actor } from "../audit-record/index.ts";
import { EVENTS } from "../event-catalogue/index.ts";
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
export function createEnding({ clock, events }: Pick<ManageDeps, "clock" | "events">) {
  return {
    /** Revokes every API key a person made, in whatever organization. */
    async keysOf(tx: Tx, madeBy: string, { userUuid, actor, info, reason }: EndedBy): Promise<void> {
      for (const { key_id: id, org_uuid: orgUuid } of await revokeKeysMadeBy(tx, madeBy, dateOf(clock))) {
        await events.emit(tx, EVENTS["api_key.revoked"], {
          by: { userUuid, actor, info },
          orgUuid,
          resourceId: id,
          metadata: { kind: "api_key", key_id: id, reason },
          data: { key_id: id },
        });
      }
    },

    /** Revokes every SCIM token of an organization. */
    async scimTokensOf(tx: Tx, orgUuid: string, { userUuid, actor, info, reason }: EndedBy): Promise<void> {
      for (const id of await revokeScimTokensOf(tx, orgUuid, dateOf(clock))) {
        await events.emit(tx, EVENTS["scim_token.revoked"], {
          by: { userUuid, actor, info },
          orgUuid,
          resourceId: id,
          metadata: { kind: "scim_token", token_id: id, reason },
        });
      }
    },
  };
}
