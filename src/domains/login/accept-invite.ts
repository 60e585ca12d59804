import type { Caller, RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import { parseEmail } from "../../platform/email.ts";
import { errors, ServiceError } from "../../platform/errors.ts";
import { personActor } from "../audit-record/index.ts";
import type { SecondFactorNeeded } from "../mfa/index.ts";
import type { OpenedPair } from "../sessions/index.ts";
import type { PersonToMake, People } from "../people/index.ts";
import type { LoginDeps } from "./deps.ts";
import { invitationErrors } from "./invitation-errors.ts";
import { invitationIn, isGrantable, useInvitation } from "./invitation-store.ts";
import type { InvitationRow } from "./invitation-store.ts";
import { demandOpen, faultOf } from "./invitations.ts";
import type { Invitations } from "./invitations.ts";
import { readNewcomer } from "./newcomer.ts";
import type { Newcomer } from "./newcomer.ts";

/**
 * An invitation to be accepted: by somebody new, who gives all of it but the telephone number, or by somebody who
 * exists.
 */
export interface Acceptance extends Newcomer {
  token: string;
}

/** The membership and its tokens. */
export interface Accepted extends OpenedPair {
  userUuid: string;
  orgUuid: string;
  /** Name of the role granted. */
  role: string;
}

/** Name of what is left to do when the second factor is asked for; see `MfaDeps.continuations`. */
export const ACCEPT_INVITATION = "accept_invitation";

type PasswordRow = NonNullable<Awaited<ReturnType<People["findByEmail"]>>>;

/** How somebody proved who they are. */
interface Proof {
  amr: readonly string[];
  authTime?: Date | undefined;
  /** The absolute end of the session they come with. */
  notAfter?: Date | undefined;
}

/** The door for the invited (decisions 2.6). The stored invitation alone decides organization, email and role. */
export function createAcceptInvite(deps: LoginDeps, invitations: Pick<Invitations, "show">) {
  const { database, clock, hasher, audit, people, access, sessions, mfa } = deps;

  /** Uses the invitation up and makes the membership, in one transaction with whatever opens the session. */
  async function join(tx: Tx, invitationId: string, userUuid: string, info: RequestInfo): Promise<InvitationRow> {
    const used = await useInvitation(tx, invitationId, dateOf(clock));
    if (used === undefined) throw faultOf(await invitationIn(tx, invitationId, dateOf(clock))) ?? errors.conflict();
    // After the invitation, as a removal does it: whoever sent it may be losing that power at this moment.
    if (!(await isGrantable(tx, invitationId))) throw invitationErrors.notFound();
    if (!(await people.memberships.join(tx, used.org_uuid, userUuid, used.role_id)))
      throw invitationErrors.memberAlready();
    const confirmed = await people.confirmByInvitation(tx, userUuid);
    const metadata = { method: "invitation", invitation_id: invitationId, role: used.role, role_id: used.role_id };
    const resource = { type: "user", id: userUuid };
    const actor = personActor(userUuid, used.email);
    if (confirmed)
      await audit.record(tx, {
        type: "email.confirmed",
        outcome: "success",
        userUuid,
        orgUuid: used.org_uuid,
        info,
        actor,
        resource,
      });
    await audit.record(tx, {
      type: "user.joined",
      outcome: "success",
      userUuid,
      orgUuid: used.org_uuid,
      info,
      actor,
      resource,
      metadata,
    });
    return used;
  }

  async function open(
    tx: Tx,
    invitation: InvitationRow,
    userUuid: string,
    proof: Proof,
    info: RequestInfo,
  ): Promise<Accepted> {
    const { org_uuid: orgUuid, role } = await join(tx, invitation.uuid, userUuid, info);
    const standing = await access.standing(tx, userUuid, orgUuid);
    if (standing === undefined) throw invitationErrors.notFound();
    return { ...(await sessions.open.pair(tx, { standing, ...proof, info })), userUuid, orgUuid, role };
  }

  async function asNewcomer(invitation: InvitationRow, request: Acceptance, info: RequestInfo): Promise<Accepted> {
    const email = parseEmail(invitation.email);
    if (email === undefined) throw new Error("a stored address cannot be read");
    const { password, ...person } = readNewcomer(request);
    await people.demandGoodPassword(password, { email: email.address, orgName: invitation.org_name });
    const newcomer: PersonToMake = {
      ...person,
      email,
      passwordHash: await hasher.hash(password, info.address),
      confirmed: true,
    };
    return database.transaction(async (tx) => {
      // Who comes second waits here for the first, and is then told that the invitation was used.
      demandOpen(await invitationIn(tx, invitation.uuid, dateOf(clock), "for update of i"));
      const { uuid } = await people.create(tx, newcomer);
      return open(tx, invitation, uuid, { amr: ["pwd"] }, info);
    }, info);
  }

  /**
   * Somebody who exists and has proven it; the second factor is asked for unless it was proven in the session they come
   * with.
   */
  async function asKnown(
    tx: Tx,
    invitation: InvitationRow,
    person: PasswordRow,
    proof: Proof,
    sessionId: string | null,
    info: RequestInfo,
  ): Promise<Accepted | SecondFactorNeeded> {
    await people.lock(tx, person.uuid);
    demandOpen(await invitationIn(tx, invitation.uuid, dateOf(clock)));
    const standing = await access.standing(tx, person.uuid, null);
    if (standing?.credentialsVersion !== person.credentials_version) throw invitationErrors.emailTaken();
    if (await people.memberships.hasMember(tx, invitation.org_uuid, invitation.email_key))
      throw invitationErrors.memberAlready();
    const notAfter = sessionId === null ? undefined : await sessions.own.demandLive(tx, { sessionId });
    const continuation = { name: ACCEPT_INVITATION, payload: { invitation_id: invitation.uuid } };
    const proven = sessionId !== null && (await sessions.proofs.last(tx, sessionId)).secondFactor !== null;
    const needed = proven
      ? undefined
      : await mfa.gatekeeper.begin(tx, { standing, amr: proof.amr, info, continuation });
    return needed ?? open(tx, invitation, person.uuid, { ...proof, notAfter }, info);
  }

  async function withBearer(
    invitation: InvitationRow,
    person: PasswordRow,
    caller: Caller,
    info: RequestInfo,
  ): Promise<Accepted | SecondFactorNeeded> {
    const { sessionId, claims } = caller;
    const amr = Array.isArray(claims?.["amr"]) ? (claims["amr"] as string[]) : [];
    const authTime = typeof claims?.["auth_time"] === "number" ? new Date(claims["auth_time"] * 1000) : undefined;
    return database.transaction((tx) => asKnown(tx, invitation, person, { amr, authTime }, sessionId, info), caller);
  }

  async function withPassword(
    invitation: InvitationRow,
    person: PasswordRow,
    password: string | undefined,
    info: RequestInfo,
  ): Promise<Accepted | SecondFactorNeeded> {
    const right = password ? (await hasher.verify(person.password_hash, password, info.address)).ok : false;
    if (!right) throw invitationErrors.emailTaken();
    return database.transaction((tx) => asKnown(tx, invitation, person, { amr: ["pwd"] }, null, info), info);
  }

  async function refused(
    invitation: InvitationRow,
    person: PasswordRow | undefined,
    error: unknown,
    token: string,
    info: RequestInfo,
  ): Promise<unknown> {
    if (!(error instanceof ServiceError) || error.status !== 409) return error;
    const metadata = { method: "invitation", invitation_id: invitation.uuid, code: error.code };
    await audit.recordFailure({
      type: "user.joined",
      userUuid: person?.uuid ?? null,
      orgUuid: invitation.org_uuid,
      info,
      resource: { type: "invitation", id: invitation.uuid },
      metadata,
    });
    // Whoever lost to another use of the same invitation is told that, and not that the person exists by now.
    await invitations.show(token);
    return person === undefined && error.code === "email_taken" ? invitationErrors.emailTaken() : error;
  }

  return {
    /**
     * Accepts an invitation: a new person is made, somebody who exists proves it with their present password or
     * their own bearer (`caller`; a foreign one counts as none). Answers the membership with a token pair, or the
     * call for the second factor. Throws 400 `invitation_expired`, `validation_error`, 404 `invitation_not_found`,
     * 409 `email_taken`, `username_taken`.
     */
    async accept(
      request: Acceptance,
      caller: Caller | undefined,
      info: RequestInfo,
    ): Promise<Accepted | SecondFactorNeeded> {
      const invitation = await invitations.show(request.token);
      const person = await people.findByEmail(invitation.email_key);
      try {
        if (person === undefined) return await asNewcomer(invitation, request, info);
        if (caller !== undefined && caller.userUuid === person.uuid)
          return await withBearer(invitation, person, caller, info);
        return await withPassword(invitation, person, request.password, info);
      } catch (error) {
        throw await refused(invitation, person, error, request.token, info);
      }
    },

    /** What is left to do when the second factor has been proven. Answers the organization. */
    async complete(
      tx: Tx,
      { userUuid, payload }: { userUuid: string; payload: Readonly<Record<string, unknown>> },
      info: RequestInfo,
    ): Promise<string> {
      return (await join(tx, String(payload["invitation_id"]), userUuid, info)).org_uuid;
    },
  };
}
