import type { RequestInfo } from "../../platform/caller.ts";
import { createRequestContext } from "../../platform/context.ts";
import type { RequestContext } from "../../platform/context.ts";
import { checkPasswordLength } from "../../platform/crypto/password-rules.ts";
import type { Tx } from "../../platform/db/types.ts";
import { errors, ServiceError } from "../../platform/errors.ts";
import { limitKey } from "../../platform/outgoing/address.ts";
import type { Standing } from "../access/index.ts";
import { causedByPerson, EVENTS, withoutActor } from "../event-catalogue/index.ts";
import { invitationErrors } from "../invitations/index.ts";
import type { InvitationRow } from "../invitations/index.ts";
import type { SecondFactorNeeded } from "../mfa/index.ts";
import type { PersonToMake, People } from "../people/index.ts";
import { demandSingleSignOn } from "../sessions/index.ts";
import type { Inherited, OpenedPair } from "../sessions/index.ts";
import type { LoginDeps } from "./deps.ts";
import { loginErrors } from "./errors.ts";
import { readNewcomer } from "./newcomer.ts";
import type { Newcomer } from "./newcomer.ts";
import { proofOf, storedEmail } from "./rules.ts";
import type { Proof } from "./rules.ts";

/** An acceptance; a new person gives every member but the telephone number. */
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

/** Name of the stored step that accepts an invitation after MFA. */
export const ACCEPT_INVITATION = "accept_invitation";

type PasswordRow = NonNullable<Awaited<ReturnType<People["findByEmail"]>>>;

/** How an existing person proved who they are; with the session they came with, if any. */
interface ProvenPerson extends Proof {
  person: PasswordRow;
  sessionId: string | null;
}

/** Acceptance of invitations (decisions 2.6). The stored invitation alone decides organization, address and role. */
export function createAcceptInvitation(deps: LoginDeps) {
  const { database, hasher, events, people, access, sessions, mfa, invitations, signInAttempts } = deps;

  /** Uses the invitation up and creates the membership, in the transaction that opens the session. */
  async function join(
    tx: Tx,
    invitationId: string,
    userUuid: string,
    info: RequestInfo,
  ): Promise<{ invitation: InvitationRow; standing: Standing }> {
    const used = await invitations.use(tx, invitationId);
    if (!(await people.memberships.join(tx, used.orgUuid, userUuid, used.roleId)))
      throw invitationErrors.memberAlready();
    const confirmed = await people.confirmByInvitation(tx, userUuid);
    const by = causedByPerson({ userUuid, email: used.email }, info);
    const event = { by, orgUuid: used.orgUuid, resourceId: userUuid };
    if (confirmed) await events.emit(tx, EVENTS["email.confirmed"], event);
    const metadata = { method: "invitation", invitation_id: invitationId, role: used.role, role_id: used.roleId };
    await events.emit(tx, EVENTS["user.joined"], { ...event, metadata });
    const standing = await access.standing(tx, userUuid, used.orgUuid);
    if (standing === undefined) throw invitationErrors.notFound();
    // Whatever the person came with, `fed` too, is no sign-on by a provider of this organization.
    demandSingleSignOn(standing, []);
    return { invitation: used, standing };
  }

  async function open(
    tx: Tx,
    invitation: InvitationRow,
    userUuid: string,
    proof: Proof & Inherited,
    info: RequestInfo,
  ): Promise<Accepted> {
    const { invitation: used, standing } = await join(tx, invitation.uuid, userUuid, info);
    const { orgUuid, role } = used;
    return { ...(await sessions.open.pair(tx, { standing, ...proof, info })), userUuid, orgUuid, role };
  }

  async function asNewPerson(
    context: RequestContext,
    invitation: InvitationRow,
    request: Acceptance,
  ): Promise<Accepted> {
    const { info } = context;
    const email = storedEmail(invitation.email);
    const { password, ...person } = readNewcomer(request);
    await people.demandGoodPassword(password, { email: email.address, orgName: invitation.orgName });
    const passwordHash = await hasher.hash(password, info.address);
    const newcomer: PersonToMake = { ...person, email, passwordHash, confirmed: true };
    return context.transaction(async (tx) => {
      // The later of two acceptances waits here for the earlier one, and then finds the invitation used.
      await invitations.demandPending(tx, invitation.uuid, "lock");
      const { uuid } = await people.create(tx, newcomer);
      return open(tx, invitation, uuid, { amr: ["pwd"] }, info);
    });
  }

  /** Asks for the second factor, unless it was proven in the session the person came with. */
  async function asExistingPerson(
    tx: Tx,
    invitation: InvitationRow,
    { person, sessionId, ...proof }: ProvenPerson,
    info: RequestInfo,
  ): Promise<Accepted | SecondFactorNeeded> {
    await people.lock(tx, person.uuid);
    await invitations.demandPending(tx, invitation.uuid);
    const standing = await access.standing(tx, person.uuid, null);
    if (standing?.credentialsVersion !== person.credentialsVersion) throw loginErrors.emailTaken();
    if (await people.memberships.hasMember(tx, invitation.orgUuid, invitation.emailKey))
      throw invitationErrors.memberAlready();
    const inherited = sessionId === null ? {} : await sessions.own.demandLive(tx, { sessionId });
    const next = { name: ACCEPT_INVITATION, payload: { invitation_id: invitation.uuid, session_id: sessionId } };
    const proven = sessionId !== null && (await sessions.proofs.last(tx, sessionId)).secondFactor !== null;
    const needed = proven ? undefined : await mfa.requestSecondFactor(tx, { standing, amr: proof.amr, info, next });
    return needed ?? open(tx, invitation, person.uuid, { ...proof, ...inherited }, info);
  }

  /** A wrong password counts as a failed login of the person. */
  async function withPassword(
    context: RequestContext,
    invitation: InvitationRow,
    person: PasswordRow,
    password: string | undefined,
  ): Promise<Accepted | SecondFactorNeeded> {
    const { info } = context;
    if (!password) throw loginErrors.emailTaken();
    const proven = { person, sessionId: null, amr: ["pwd"] };
    const work = async () => {
      if (!(await hasher.verify(person.passwordHash, password, info.address)).ok) throw errors.unauthorized();
      return context.transaction((tx) => asExistingPerson(tx, invitation, proven, info));
    };
    const attempt = { address: limitKey(info.address), email: invitation.emailKey, delayed: true };
    try {
      return await (signInAttempts === undefined ? work() : signInAttempts.run(attempt, work));
    } catch (error) {
      throw error instanceof ServiceError && error.status === 401 ? loginErrors.emailTaken() : error;
    }
  }

  function accept(
    context: RequestContext,
    invitation: InvitationRow,
    person: PasswordRow | undefined,
    request: Acceptance,
  ): Promise<Accepted | SecondFactorNeeded> {
    const { caller, info } = context;
    if (person !== undefined && caller !== undefined && caller.userUuid === person.uuid) {
      const proven = { person, sessionId: caller.sessionId, ...proofOf(caller, []) };
      return context.transaction((tx) => asExistingPerson(tx, invitation, proven, info));
    }
    // A token of another person counts as none.
    const anonymous = createRequestContext(database, undefined, info);
    return person === undefined
      ? asNewPerson(anonymous, invitation, request)
      : withPassword(anonymous, invitation, person, request.password);
  }

  /**
   * Returns the error for a password too short for anybody: without an invitation to say whom it is for, the body is
   * refused before the token (decisions 1.7).
   */
  function passwordFault({ password }: Acceptance): ServiceError | undefined {
    const violation = password ? checkPasswordLength(password) : undefined;
    return violation === undefined ? undefined : errors.validation({ fields: [violation] });
  }

  /** Records a conflict, or that single sign-on is required, and returns the error to throw for it. */
  async function refusalOf(
    { info }: RequestContext,
    invitation: InvitationRow,
    person: PasswordRow | undefined,
    error: unknown,
    token: string,
  ): Promise<unknown> {
    if (!(error instanceof ServiceError) || (error.status !== 409 && error.code !== "sso_required")) return error;
    await events.recordFailure(EVENTS["invitation.accepted"], {
      by: withoutActor(person?.uuid ?? null, info),
      orgUuid: invitation.orgUuid,
      resourceId: invitation.uuid,
      metadata: { method: "invitation", invitation_id: invitation.uuid, code: error.code },
    });
    // The loser of two acceptances learns that the invitation was used, not that the person exists by now.
    await invitations.show(token);
    return person === undefined && error.code === "email_taken" ? loginErrors.emailTaken() : error;
  }

  return {
    /**
     * Accepts an invitation. A new person is created; an existing one proves who they are with their present password
     * or their own bearer token. Returns the membership with a token pair, or the request for the second factor.
     * @throws {invitation_not_found} when the token is unknown, or the invitation was withdrawn or replaced
     * @throws {invitation_expired} when the invitation has expired or was accepted
     * @throws {validation_error} when a member that a new person must give is missing or not valid
     * @throws {email_taken} when the person exists and has not proven who they are, or is a member
     * @throws {rate_limited} after too many wrong passwords of the person
     * @throws {username_taken} when a new person asks for a username in use
     */
    async accept(context: RequestContext, request: Acceptance): Promise<Accepted | SecondFactorNeeded> {
      const invitation = await invitations.show(request.token).catch((error: unknown) => {
        throw error instanceof ServiceError ? (passwordFault(request) ?? error) : error;
      });
      const person = await people.findByEmail(invitation.emailKey);
      try {
        return await accept(context, invitation, person, request);
      } catch (error) {
        throw await refusalOf(context, invitation, person, error, request.token);
      }
    },

    /** Accepts the invitation once the second factor has been passed. Returns the organization. */
    async acceptAfterSecondFactor(
      tx: Tx,
      userUuid: string,
      payload: Readonly<Record<string, unknown>>,
      info: RequestInfo,
    ): Promise<string> {
      return (await join(tx, String(payload["invitation_id"]), userUuid, info)).invitation.orgUuid;
    },

    /**
     * What the session inherits from the one whose token accepted the invitation.
     * @throws {unauthorized} when that has ended
     */
    async inheritedAfterSecondFactor(tx: Tx, payload: Readonly<Record<string, unknown>>): Promise<Inherited> {
      const sessionId = payload["session_id"];
      return typeof sessionId === "string" ? sessions.own.demandLive(tx, { sessionId }) : {};
    },
  };
}
