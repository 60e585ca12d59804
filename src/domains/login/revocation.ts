import type { RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import { causedByPerson, EVENTS } from "../event-catalogue/index.ts";
import type { EndedBy } from "../event-catalogue/index.ts";
import type { LoginDeps } from "./deps.ts";

/** Dependencies of the revocation of an account's credentials. */
export type RevocationDeps = Pick<
  LoginDeps,
  | "clock"
  | "events"
  | "organizations"
  | "people"
  | "sessions"
  | "credentials"
  | "serviceIdentities"
  | "oidc"
  | "webhooks"
  | "invitations"
>;

/** Revokes everything by which the person who made an unconfirmed account could still act (decisions 2.3). */
export function createRevocation(deps: RevocationDeps) {
  const { clock, events, organizations, people, sessions, credentials, serviceIdentities, oidc, webhooks } = deps;
  const { invitations } = deps;

  /** Ends the admission of mail domains to a locked organization: its links join nobody any more. */
  async function closeToDomains(tx: Tx, orgUuid: string, { by, reason }: EndedBy): Promise<void> {
    const org = await organizations.lock(tx, orgUuid);
    if (org === undefined || org.jitDomains.length === 0) return;
    await organizations.change(tx, org, { jitDomains: [] }, dateOf(clock));
    await events.emit(tx, EVENTS["organization.updated"], {
      by,
      orgUuid,
      resourceId: orgUuid,
      metadata: { before: { jit_domains: org.jitDomains }, after: { jit_domains: [] }, reason },
    });
  }

  /**
   * Ends sessions, API keys and linked identities of a person, and service identities, SCIM tokens, webhooks, open
   * invitations, identity providers and admitted mail domains of the organizations that have no other owner. The row of
   * the person must be locked. The organizations and their service identities are locked first, as by every request
   * that creates credentials in them or for these. Sessions, keys and service identities end next: what a request in
   * flight still makes with them is committed before that, and the statements that follow see it.
   */
  return async function revokeCredentials(
    tx: Tx,
    { userUuid, email }: { userUuid: string; email: string },
    reason: string,
    info: RequestInfo,
  ): Promise<void> {
    const ended = { by: causedByPerson({ userUuid, email }, info), reason };
    const owned = await people.memberships.ownedAlone(tx, userUuid);
    await organizations.lockAll(tx, owned);
    for (const orgUuid of owned) await serviceIdentities.lockForEnd(tx, orgUuid);
    // Webhooks receive the ends of sessions and keys before they end themselves.
    for (const orgUuid of owned) webhooks.lockForEnd(tx, orgUuid);
    await sessions.own.endAll(tx, userUuid, reason, ended.by);
    await credentials.ending.keysOf(tx, userUuid, ended);
    await oidc.endLinks(tx, { userUuid, email }, reason, info);
    for (const orgUuid of await people.memberships.ownedAlone(tx, userUuid)) {
      await serviceIdentities.endAll(tx, orgUuid, ended);
      await credentials.ending.scimTokensOf(tx, orgUuid, ended);
      await webhooks.organizationEnds(tx, orgUuid);
      await invitations.withdrawAllOf(tx, orgUuid, ended);
      await oidc.connections.removeAll(tx, orgUuid, ended);
      await closeToDomains(tx, orgUuid, ended);
    }
  };
}
