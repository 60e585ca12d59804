import type { RequestInfo } from "../../platform/caller.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { Email } from "../../platform/email.ts";
import type { Standing } from "../access/index.ts";
import { causedByPerson, EVENTS, withoutActor } from "../event-catalogue/index.ts";
import type { SecondFactorNeeded } from "../mfa/index.ts";
import type { OpenedSession, OpenRequest } from "../sessions/index.ts";
import type { LoginDeps } from "./deps.ts";
import { createMailboxProof } from "./mailbox-proof.ts";
import type { MailboxProofDeps } from "./mailbox-proof.ts";
import { storedEmail } from "./rules.ts";

/** A mailbox that has just been proven. */
export interface ProvenMailbox {
  /** As stored with the link or code. */
  email: string;
  /** Organization to act in, if the person is an active member. */
  orgUuid: string | null;
  /** The mail said that the sign-in joins that organization, if it admits the mail domain. */
  joins: boolean;
}

/** How the mailbox was proven. */
export interface MailMethod<T extends OpenedSession> {
  /** Name for the audit log. */
  name: "magic_link" | "otp";
  amr: readonly string[];
  /** Opens the kind of session the method gives. */
  open(tx: Tx, request: OpenRequest): Promise<T>;
}

/** Name of the stored step that joins an organization after MFA. */
export const JOIN_BY_MAIL = "join_by_mail";

/** Dependencies of a sign-in by mail. */
export type MailSignInDeps = MailboxProofDeps & Pick<LoginDeps, "organizations" | "access">;

/** What sign-ins by mailed links and by mailed codes have in common (decisions 3.6, 3.8). */
export function createMailSignIn(deps: MailSignInDeps) {
  const { events, organizations, people, access, mfa } = deps;
  const prove = createMailboxProof(deps);

  /** Makes a person an employee, if the organization admits the mail domain and they never were a member. */
  async function join(
    tx: Tx,
    orgUuid: string,
    { email, userUuid }: { email: Email; userUuid: string },
    method: string,
    info: RequestInfo,
  ): Promise<void> {
    const org = await organizations.findIn(tx, orgUuid);
    if (org?.jitDomains.includes(email.domain) !== true) return;
    const { joined } = await people.memberships.admit(tx, orgUuid, userUuid);
    if (!joined) return;
    await events.emit(tx, EVENTS["user.joined"], {
      by: causedByPerson({ userUuid, email: email.address }, info),
      orgUuid,
      resourceId: userUuid,
      metadata: { method },
    });
  }

  /** The organization to sign in to: the requested one for its active members, else the one last used. */
  async function organizationFor(tx: Tx, orgUuid: string | null, userUuid: string): Promise<string | null> {
    const requested = orgUuid === null ? undefined : await organizations.findIn(tx, orgUuid);
    if (requested !== undefined && (await people.memberships.isActive(tx, requested.uuid, userUuid)))
      return requested.uuid;
    return (await people.memberships.lastUsed(tx, userUuid)) ?? null;
  }

  /**
   * What a person is where they sign in. Their row is locked, and no organization is: one that ends between the two
   * statements is not chosen again.
   */
  async function standingFor(tx: Tx, orgUuid: string | null, userUuid: string): Promise<Standing> {
    const org = await organizationFor(tx, orgUuid, userUuid);
    const standing = await access.standing(tx, userUuid, org);
    if (standing !== undefined) return standing;
    if (org === null) throw new Error("a person vanished under a lock");
    return standingFor(tx, orgUuid, userUuid);
  }

  return {
    /**
     * Signs in the person who has proven a mailbox, in the transaction that used the proof up; creates the person if
     * necessary. The first proof of an unconfirmed address revokes the credentials made before it. When a second factor
     * is active, the person joins an organization only once they have passed it.
     */
    async signIn<T extends OpenedSession>(
      tx: Tx,
      { orgUuid, ...proof }: ProvenMailbox,
      { name: method, amr, open }: MailMethod<T>,
      info: RequestInfo,
    ): Promise<SecondFactorNeeded | { opened: T; standing: Standing }> {
      const email = storedEmail(proof.email);
      const userUuid = await prove(tx, email, info);
      const joins = proof.joins && orgUuid !== null;
      if (joins && !(await mfa.isRequired(tx, userUuid))) await join(tx, orgUuid, { email, userUuid }, method, info);
      const standing = await standingFor(tx, orgUuid, userUuid);
      const event = { by: withoutActor(userUuid, info), orgUuid: standing.org?.uuid ?? null };
      const next = joins ? { name: JOIN_BY_MAIL, payload: { org_uuid: orgUuid, method } } : undefined;
      const needed = await mfa.requestSecondFactor(tx, { standing, amr, info, next });
      if (needed !== undefined) {
        const metadata = { method, mfa_required: true };
        await events.emit(tx, EVENTS["login.magic_link"], { ...event, metadata });
        return needed;
      }
      const opened = await open(tx, { standing, amr, info });
      const metadata = { method, session_id: opened.sessionId };
      await events.emit(tx, EVENTS["login.magic_link"], { ...event, metadata });
      return { opened, standing };
    },

    /** Joins the organization once the second factor has been passed. Returns the organization the session acts in. */
    async joinAfterSecondFactor(
      tx: Tx,
      userUuid: string,
      payload: Readonly<Record<string, unknown>>,
      info: RequestInfo,
    ): Promise<string | null> {
      const person = await access.standing(tx, userUuid, null);
      const orgUuid = String(payload["org_uuid"]);
      if (person !== undefined) {
        const email = storedEmail(person.email);
        await join(tx, orgUuid, { email, userUuid }, String(payload["method"]), info);
      }
      return organizationFor(tx, orgUuid, userUuid);
    },
  };
}

/** Sign-ins by mail. */
export type MailSignIn = ReturnType<typeof createMailSignIn>;
