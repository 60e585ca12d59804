import type { Caller, RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { RequestContext } from "../../platform/context.ts";
import { hashToken, newOpaqueToken } from "../../platform/crypto/opaque.ts";
import type { Tx } from "../../platform/db/types.ts";
import { parseEmail } from "../../platform/email.ts";
import { errors } from "../../platform/errors.ts";
import type { FieldViolation } from "../../platform/errors.ts";
import { personName } from "../../platform/names.ts";
import { causedBy, causedByPerson, EVENTS } from "../event-catalogue/index.ts";
import type { PersonToMake } from "../people/index.ts";
import type { OpenedPair } from "../sessions/index.ts";
import type { LoginDeps } from "./deps.ts";
import { confirmationMail } from "./mails.ts";
import type { Founded, Founder, NewOrganization } from "./new-organization.ts";
import { callerAsOwner, demandMaySignUp, proofOf } from "./rules.ts";
import { insertMailToken, useMailToken } from "./store.ts";

/** Lifetime of the link that confirms the address of a sign-up. */
const CONFIRMATION_MS = 7 * 24 * 60 * 60 * 1000;

/** An organization to create, and its owner. */
export interface SignUpRequest {
  name: string;
  email?: string | undefined;
  password?: string | undefined;
  firstName?: string | undefined;
  lastName?: string | undefined;
}

/** A new organization, its owner and the owner's tokens. */
export interface SignedUp extends OpenedPair {
  org: { uuid: string; name: string };
  userUuid: string;
}

/** Sign-up: new organizations and their owners (decisions 2.2). */
export function createSignUp(deps: LoginDeps, newOrganization: NewOrganization) {
  const { clock, random, hasher, events, people, access, sessions, config } = deps;

  async function newPerson(request: SignUpRequest, { address, invalidBearer }: RequestInfo): Promise<PersonToMake> {
    // Whoever sends a token and no address wants a further organization: the client renews the token on 401.
    if (invalidBearer === true && !request.email) throw errors.unauthorized();
    const email = request.email === undefined ? undefined : parseEmail(request.email);
    const { password } = request;
    const [firstName, lastName] = [request.firstName, request.lastName].map((name) => personName(name ?? ""));
    if (email === undefined || !password || !firstName)
      throw errors.validation({ fields: missing({ email, password, first_name: firstName }) });
    await people.demandGoodPassword(password, { email: email.address, orgName: request.name });
    return { email, firstName, lastName, passwordHash: await hasher.hash(password, address), confirmed: false };
  }

  async function mailConfirmation(tx: Tx, { userUuid, org }: Founded, { email }: PersonToMake): Promise<void> {
    const { token, hash } = newOpaqueToken(random);
    const [at, expiresAt] = [dateOf(clock), dateOf(clock, CONFIRMATION_MS)];
    await insertMailToken(tx, {
      hash,
      purpose: "confirm_email",
      email: email.address,
      emailKey: email.key,
      userUuid,
      at,
      expiresAt,
    });
    const url = `${config.baseUrl}/confirm-email#token=${token}`;
    const write = (sender: string) => confirmationMail(sender, url, CONFIRMATION_MS / 86_400_000);
    await people.mails.send(tx, { to: email.address, organization: org.name, write }, expiresAt);
  }

  async function openSession(
    tx: Tx,
    { userUuid, org }: Founded,
    caller: Caller | undefined,
    info: RequestInfo,
  ): Promise<OpenedPair> {
    const standing = await access.standing(tx, userUuid, org.uuid);
    if (standing === undefined) throw new Error("a new organization has no owner");
    const self = caller?.userUuid === userUuid ? caller : undefined;
    const inherited = self === undefined ? {} : await sessions.own.demandLive(tx, self);
    return sessions.open.pair(tx, { standing, ...proofOf(self, ["pwd"]), info, ...inherited });
  }

  return {
    /**
     * Demands, before anything of the request is read, that the caller may sign up.
     * @throws {forbidden} when they may not
     */
    demandAllowed: (caller: Caller | undefined): void => demandMaySignUp(caller, config.openSignup),

    /**
     * Creates an organization. Without a caller a new person signs up; a signed-in person creates a further
     * organization of their own; a platform admin may name another owner, a new person.
     * @throws {forbidden} when sign-up is closed
     * @throws {unauthorized} when a bearer came along that is not valid, and no address
     * @throws {validation_error} when a member is missing or not valid
     * @throws {conflict} when the name is or was in use
     * @throws {email_taken} when the new person exists
     */
    async signUp(context: RequestContext, request: SignUpRequest): Promise<SignedUp> {
      const { caller, info } = context;
      demandMaySignUp(caller, config.openSignup);
      const self = callerAsOwner(caller, request.email);
      const founder: Founder = self === undefined ? await newPerson(request, info) : { userUuid: self };
      const key = await newOrganization.generateKey();
      return context.transaction(async (tx) => {
        const founded = await newOrganization.create(tx, request.name, founder, key);
        const { org, userUuid } = founded;
        if (!("userUuid" in founder)) await mailConfirmation(tx, founded, founder);
        const opened = await openSession(tx, founded, caller, info);
        const { actor } =
          caller === undefined
            ? { actor: { type: "user", id: userUuid, email: "email" in founder ? founder.email.address : null } }
            : causedBy({ caller, info });
        await events.emit(tx, EVENTS["organization.created"], {
          by: { actor, userUuid, info },
          orgUuid: org.uuid,
          resourceId: org.uuid,
          metadata: { name: org.name, session_id: opened.sessionId },
        });
        return { ...opened, org, userUuid };
      });
    },

    /**
     * Confirms the address of a sign-up.
     * @throws {unauthorized} when the token is unknown, used or expired
     */
    async confirmEmail(context: RequestContext, token: string): Promise<void> {
      const isKnown = await context.transaction(async (tx) => {
        const link = await useMailToken(tx, hashToken(token), "confirm_email", dateOf(clock));
        if (link === undefined || link.userUuid === null) return false;
        const userUuid = link.userUuid;
        const confirmed = await people.confirm(tx, userUuid);
        if (confirmed === undefined) return true;
        await events.emit(tx, EVENTS["email.confirmed"], {
          by: causedByPerson({ userUuid, email: confirmed.email }, context.info),
          orgUuid: (await people.memberships.lastUsed(tx, userUuid)) ?? null,
          resourceId: userUuid,
        });
        return true;
      });
      if (!isKnown) throw errors.unauthorized({ message: "The link is unknown, expired or was used before." });
    },
  };
}

function missing(fields: Readonly<Record<string, unknown>>): FieldViolation[] {
  const names = Object.keys(fields).filter((name) => !fields[name]);
  return names.map((field) => ({ field, code: "required", message: "is required" }));
}
