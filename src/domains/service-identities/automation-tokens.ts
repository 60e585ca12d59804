import { dateOf } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import type { Page } from "../../platform/db/paging.ts";
import { lockCredentials, newSecret } from "../credentials/index.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { ServiceIdentitiesDeps } from "./deps.ts";
import { identityErrors } from "./errors.ts";
import type { Identities } from "./identities.ts";
import { keepIdentity } from "./identity-store.ts";
import { DEFAULT_TOKEN_SECONDS, KEPT_MS } from "./rules.ts";
import * as store from "./token-store.ts";
import type { TokenRow } from "./token-store.ts";

/** Automation tokens of service identities (decisions 7.7). */
export function createAutomationTokens(
  { database, clock, random, events, environment }: ServiceIdentitiesDeps,
  { demandRole }: Pick<Identities, "demandRole">,
) {
  return {
    /**
     * Creates a token of an identity. Its secret is returned only here.
     * @throws {not_found} when there is no such living identity
     * @throws {forbidden} when the identity's role goes beyond the caller's present power
     */
    create: (
      context: CallerContext,
      orgUuid: string,
      { identityId, name, expiresIn }: { identityId: string; name: string; expiresIn: number | undefined },
    ): Promise<{ token: TokenRow; secret: string }> =>
      context.transaction(async (tx) => {
        // The caller may be an identity that this one ends meanwhile.
        await lockCredentials(tx, orgUuid);
        const identity = await keepIdentity(tx, orgUuid, identityId);
        if (identity === undefined) throw identityErrors.notFound();
        await demandRole(tx, context.caller, orgUuid, identity.roleId);
        const tokenId = random.uuid();
        const { text, hash } = newSecret(random, `aut_${environment}`, tokenId);
        const expiresAt = dateOf(clock, (expiresIn ?? DEFAULT_TOKEN_SECONDS) * 1_000);
        const token = { tokenId, identityId, name, createdAt: dateOf(clock), expiresAt };
        await store.insertToken(tx, { ...token, orgUuid, hash });
        await events.emit(tx, EVENTS["automation_token.created"], {
          by: causedBy(context),
          orgUuid,
          resourceId: tokenId,
          metadata: { kind: "automation_token", token_id: tokenId, identity_id: identityId, name },
        });
        return { token: { ...token, revokedAt: null, lastUsedAt: null }, secret: text };
      }),

    /** Tokens, newest first, with those revoked in the last 30 days. */
    list: (orgUuid: string, identityId: string | undefined, page: Page) =>
      store.tokensOf(database, orgUuid, identityId, dateOf(clock, -KEPT_MS), page),

    /**
     * Revokes a token.
     * @throws {not_found} when there is no such live token
     */
    revoke: (context: CallerContext, orgUuid: string, tokenId: string): Promise<void> =>
      context.transaction(async (tx) => {
        const revoked = await store.revokeToken(tx, orgUuid, tokenId, dateOf(clock));
        if (revoked === undefined) throw identityErrors.tokenNotFound();
        const { identityId, name } = revoked;
        await events.emit(tx, EVENTS["automation_token.revoked"], {
          by: causedBy(context),
          orgUuid,
          resourceId: tokenId,
          metadata: { kind: "automation_token", token_id: tokenId, identity_id: identityId, name },
        });
      }),
  };
}
