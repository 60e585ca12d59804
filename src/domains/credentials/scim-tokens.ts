import type { Page } from "../../platform/db/paging.ts";
import { dateOf } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { ManageDeps } from "./api-keys.ts";
import { credentialErrors } from "./errors.ts";
import { DAY_MS, DEFAULT_DAYS, LISTED_MS, MAX_SCIM_TOKENS } from "./rules.ts";
import * as store from "./scim-token-store.ts";
import type { ScimTokenRow } from "./scim-token-store.ts";
import { newSecret } from "./secret.ts";

/** Creating, listing and revoking SCIM tokens (decisions 6.4). */
export function createScimTokens({ database, clock, random, events, environment }: ManageDeps) {
  return {
    /**
     * Creates a SCIM token. Its secret is returned only here.
     * @throws {conflict} when the organization has 5 live tokens
     */
    createScimToken: (
      context: CallerContext,
      orgUuid: string,
      name: string,
      expiresInDays: number | undefined,
    ): Promise<{ token: ScimTokenRow; secret: string }> =>
      context.transaction(async (tx) => {
        const tokenId = random.uuid();
        const { text, hash } = newSecret(random, `scim_${environment}`, tokenId);
        const expiresAt = dateOf(clock, (expiresInDays ?? DEFAULT_DAYS) * DAY_MS);
        const token = { tokenId, name, createdAt: dateOf(clock), expiresAt };
        if (!(await store.insertScimToken(tx, { ...token, orgUuid, hash }, MAX_SCIM_TOKENS)))
          throw credentialErrors.tooManyTokens();
        await events.emit(tx, EVENTS["scim_token.created"], {
          by: causedBy(context),
          orgUuid,
          resourceId: tokenId,
          metadata: { kind: "scim_token", token_id: tokenId, name },
        });
        return { token: { ...token, revokedAt: null, lastUsedAt: null }, secret: text };
      }),

    /** SCIM tokens, newest first, with those revoked in the last 30 days. */
    listScimTokens: (orgUuid: string, page: Page) =>
      store.scimTokensOf(database, orgUuid, dateOf(clock, -LISTED_MS), page),

    /**
     * Revokes a SCIM token.
     * @throws {not_found} when there is no such live token
     */
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
