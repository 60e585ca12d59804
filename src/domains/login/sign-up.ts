import type { Caller, RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import { hashToken, newOpaqueToken } from "../../platform/crypto/opaque.ts";
import type { Tx } from "../../platform/db/types.ts";
import { parseEmail } from "../../platform/email.ts";
import { errors } from "../../platform/errors.ts";
import type { FieldViolation } from "../../platform/errors.ts";
import { actorOf, personActor } from "../audit-record/index.ts";
import type { OpenedPair } from "../sessions/index.ts";
import type { PersonToMake } from "../people/index.ts";
import type { LoginDeps } from "./deps.ts";
import type { Founded, Founder, Founding } from "./founding.ts";
import { confirmationMail } from "./mails.ts";
import { foundsForThemselves, maySignUp } from "./rules.ts";
import { insertMailToken, useMailToken } from "./store.ts";

/** How long the link of a sign-up confirms an address. */
const confirmationMs = 7 * 24 * 60 * 60 * 1000;

/** An organization to be made, and who will own it. */
export interface SignUpRequest {
  name: string;
  email?: string | undefined;
  password?: string | undefined;
  firstName?: string | undefined;
  lastName?: string | undefined;
}

/** What a sign-up made. */
export interface SignedUp extends OpenedPair {
  org: { uuid: string; name: string };
  userUuid: string;
}

/** The way in for new organizations (decisions 2.2). */
export function createSignUp(deps: LoginDeps, founding: Founding) {
  const { database, clock, random, hasher, audit, people, access, sessions, config } = deps;

  async function newPerson(request: SignUpRequest, { address }: RequestInfo): Promise<PersonToMake> {
    const email = request.email === undefined ? undefined : parseEmail(request.email);
    const { password, firstName, lastName } = request;
    if (email === undefined || !password || !firstName)
      throw errors.validation({ fields: missing({ email, password, first_name: firstName }) });
    await people.demandGoodPassword(password, { email: email.address, orgName: request.name });
    return { email, firstName, lastName, passwordHash: await hasher.hash(password, address), confirmed: false };
  }

  async function mailConfirmation(tx: Tx, founded: Founded, { email }: PersonToMake): Promise<void> {
    const { token, hash } = newOpaqueToken(random);
    const [at, expiresAt] = [dateOf(clock), dateOf(clock, confirmationMs)];
    const { userUuid, org } = founded;
    await insertMailToken(tx, {
      hash,
      purpose: "confirm_email",
      email: email.address,
      emailKey: email.key,
      userUuid,
      at,
      expiresAt,
    });
    const url = `${config.baseUrl}/confirm-email?token=${token}`;
    const write = (sender: string) => confirmationMail(sender, url, confirmationMs / 86_400_000);
    await people.mails.send(tx, { to: email.address, organization: org.name, write }, expiresAt);
  }

  async function openFor(tx: Tx, founded: Founded, caller: Caller | undefined, info: RequestInfo): Promise<OpenedPair> {
    const standing = await access.standing(tx, founded.userUuid, founded.org.uuid);
    if (standing === undefined) throw new Error("a new organization has no owner");
    const self = caller?.userUuid === founded.userUuid ? caller : undefined;
    const notAfter = self === undefined ? undefined : await sessions.own.demandLive(tx, self);
    const same = self?.claims;
    const amr = Array.isArray(same?.["amr"]) ? (same["amr"] as string[]) : ["pwd"];
    const authTime = typeof same?.["auth_time"] === "number" ? new Date(same["auth_time"] * 1000) : undefined;
    return sessions.open.pair(tx, { standing, amr, authTime, info, notAfter });
  }

  return {
    /** Refuses who may not sign up, before anything of the request is read. Throws `forbidden`. */
    demandOpen: (caller: Caller | undefined): void => maySignUp(caller, config.openSignup),

    /**
     * Makes an organization. Without a caller a new person signs up; a signed-in person makes a further one of
     * their own; a platform admin may name another owner, a new person. Throws `forbidden` where sign-up
     * is closed, 400 `validation_error`, 409 `conflict` for the name, 409 `email_taken`.
     */
    async signUp(caller: Caller | undefined, request: SignUpRequest, info: RequestInfo): Promise<SignedUp> {
      maySignUp(caller, config.openSignup);
      const self = foundsForThemselves(caller, request.email);
      const founder: Founder = self === undefined ? await newPerson(request, info) : { userUuid: self };
      const key = await founding.prepare();
      return database.transaction(async (tx) => {
        const founded = await founding.found(tx, request.name, founder, key);
        const { org, userUuid } = founded;
        if (!("userUuid" in founder)) await mailConfirmation(tx, founded, founder);
        const opened = await openFor(tx, founded, caller, info);
        const resource = { type: "organization", id: org.uuid };
        const actor =
          caller === undefined
            ? { type: "user", id: userUuid, email: "email" in founder ? founder.email.address : null }
            : actorOf(caller);
        const metadata = { name: org.name, session_id: opened.sessionId };
        await audit.record(tx, {
          type: "organization.created",
          outcome: "success",
          userUuid,
          orgUuid: org.uuid,
          info,
          actor,
          resource,
          metadata,
        });
        return { ...opened, org, userUuid };
      }, caller ?? info);
    },

    /** Confirms the address of a sign-up. Throws `unauthorized` for a token that is unknown, used or expired. */
    async confirmEmail(token: string, info: RequestInfo): Promise<void> {
      const done = await database.transaction(async (tx) => {
        const link = await useMailToken(tx, hashToken(token), "confirm_email", dateOf(clock));
        if (link === undefined || link.user_uuid === null) return false;
        const userUuid = link.user_uuid;
        const confirmed = await people.confirm(tx, userUuid);
        if (confirmed === undefined) return true;
        const orgUuid = (await people.memberships.lastUsed(tx, userUuid)) ?? null;
        const resource = { type: "user", id: userUuid };
        await audit.record(tx, {
          type: "email.confirmed",
          outcome: "success",
          userUuid,
          orgUuid,
          info,
          actor: personActor(userUuid, confirmed.email),
          resource,
        });
        return true;
      }, info);
      if (!done) throw errors.unauthorized({ message: "The link is unknown, expired or was used before." });
    },
  };
}

function missing(fields: Readonly<Record<string, unknown>>): FieldViolation[] {
  const names = Object.keys(fields).filter((name) => !fields[name]);
  return names.map((field) => ({ field, code: "required", message: "is required" }));
}
