import { dateOf } from "../../platform/clock.ts";
import type { RequestInfo } from "../../platform/caller.ts";
import type { Tx } from "../../platform/db/types.ts";
import { parseEmail } from "../../platform/email.ts";
import { causedByPerson, EVENTS } from "../event-catalogue/index.ts";
import type { OidcDeps } from "./deps.ts";
import { oidcErrors } from "./errors.ts";
import type { Redeemed } from "./flow-store.ts";
import * as store from "./identity-store.ts";
import type { Candidate } from "./identity-store.ts";

/** The person an identity signs in. */
export interface Admitted {
  userUuid: string;
  /** The identity is still to be linked to them. */
  links: boolean;
}

/**
 * Whether a verified address links to the person who has it (decisions 8.4): only for members over whom the
 * organization alone has a say. Anybody else could be taken over by whoever controls the identity provider.
 */
function maySelfLink({ isPowerful, status, isOwner, isElsewhere, isLinked }: Candidate): boolean {
  return status === "active" && !isOwner && !isPowerful && !isElsewhere && !isLinked;
}

/** Who an identity signs in (decisions 8.4). */
export function createAdmission(deps: OidcDeps) {
  const { clock, events, people } = deps;

  /** Links an identity to a person, in the transaction that signs them in. */
  async function link(
    tx: Tx,
    { connectionUuid, orgUuid, subject }: Pick<Redeemed, "connectionUuid" | "orgUuid" | "subject">,
    person: { userUuid: string; email: string },
    info: RequestInfo,
    byPerson = false,
  ): Promise<boolean> {
    const identity = { connectionUuid, subject, userUuid: person.userUuid, byPerson, at: dateOf(clock) };
    if (!(await store.insertIdentity(tx, identity))) return false;
    await recordLink(tx, { connectionUuid, orgUuid }, person, info);
    return true;
  }

  async function recordLink(
    tx: Tx,
    { connectionUuid, orgUuid }: Pick<Redeemed, "connectionUuid" | "orgUuid">,
    person: { userUuid: string; email: string },
    info: RequestInfo,
  ): Promise<void> {
    await events.emit(tx, EVENTS["oidc_connection.linked"], {
      by: causedByPerson(person, info),
      orgUuid,
      resourceId: connectionUuid,
      metadata: { connection_uuid: connectionUuid, user_uuid: person.userUuid },
    });
  }

  async function createMember(tx: Tx, token: Redeemed, info: RequestInfo): Promise<Admitted | undefined> {
    const email = parseEmail(token.email);
    if (email === undefined || !token.allowedDomains.includes(email.domain)) throw oidcErrors.domainMismatch();
    // Neither a password nor a proof of the mailbox: its owner may still claim the account by mail (decisions 2.3).
    const { firstName, lastName } = token;
    const created = await people.createUnlessKnown(tx, {
      email,
      firstName,
      lastName,
      passwordHash: null,
      confirmed: false,
    });
    if (created === undefined) return undefined;
    const person = { userUuid: created.uuid, email: email.address };
    await people.memberships.admit(tx, token.orgUuid, created.uuid);
    await events.emit(tx, EVENTS["user.joined"], {
      by: causedByPerson(person, info),
      orgUuid: token.orgUuid,
      resourceId: created.uuid,
      metadata: { method: "oidc", connection_uuid: token.connectionUuid },
    });
    if (!(await link(tx, token, person, info))) throw oidcErrors.linkRequired();
    return { userUuid: created.uuid, links: false };
  }

  return {
    link,
    recordLink,

    /**
     * The person behind an identity, created where nobody has the address.
     * @throws {link_required} when the address belongs to somebody whom it does not link to
     * @throws {forbidden} when the identity is linked to somebody who is no active member
     */
    async admit(tx: Tx, token: Redeemed, info: RequestInfo): Promise<Admitted> {
      if (token.userUuid !== null) {
        if (!token.isActive) throw oidcErrors.notMember();
        return { userUuid: token.userUuid, links: false };
      }
      const created = await createMember(tx, token, info);
      if (created !== undefined) return created;
      const known = await store.candidate(tx, parseEmail(token.email)?.key ?? "", token);
      if (known === undefined || !maySelfLink(known)) {
        // Another sign-in by this identity may have created the person meanwhile.
        const meanwhile = await store.personOf(tx, token.connectionUuid, token.subject);
        if (meanwhile === undefined || meanwhile !== known?.userUuid) throw oidcErrors.linkRequired();
        return { userUuid: meanwhile, links: false };
      }
      return { userUuid: known.userUuid, links: true };
    },
  };
}
