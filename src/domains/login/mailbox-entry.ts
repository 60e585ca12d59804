import type { RequestInfo } from "../../platform/caller.ts";
import type { Tx } from "../../platform/db/types.ts";
import { parseEmail } from "../../platform/email.ts";
import type { Email } from "../../platform/email.ts";
import type { Standing } from "../access/index.ts";
import { personActor } from "../audit-record/index.ts";
import type { SecondFactorNeeded } from "../mfa/index.ts";
import type { OpenedSession, OpenRequest } from "../sessions/index.ts";
import type { LoginDeps } from "./deps.ts";
import { createMailboxProof } from "./mailbox-proof.ts";
import type { MailboxProofDeps } from "./mailbox-proof.ts";

/** A mailbox somebody has just proven to have. */
export interface ProvenMailbox {
  /** As stored with the link or code. */
  email: string;
  /** Organization to act in, where they are an active member. */
  orgUuid: string | null;
  /** The mail said that they join that organization, if it admits the mail domain. */
  joins: boolean;
}

/** The door they came through. */
export interface MailboxDoor<T extends OpenedSession> {
  /** For the audit log. */
  method: "magic_link" | "otp";
  amr: readonly string[];
  /** Opens the kind of session the door gives. */
  open(tx: Tx, request: OpenRequest): Promise<T>;
}

/** Name of the step that joins an organization after the second factor; see `MfaDeps.continuations`. */
export const JOIN_BY_MAIL = "join_by_mail";

/** What a sign-in by mail is made of. */
export type MailboxEntryDeps = MailboxProofDeps & Pick<LoginDeps, "organizations" | "access">;

/** What doors for mailed links and codes have in common (decisions 3.6, 3.8). */
export function createMailboxEntry(deps: MailboxEntryDeps) {
  const { audit, organizations, people, access, mfa } = deps;
  const prove = createMailboxProof(deps);

  /**
   * Makes them an employee, where the organization admits the mail domain and they never were a member. Returns whether
   * they are an active member.
   */
  async function join(
    tx: Tx,
    orgUuid: string,
    email: Email,
    userUuid: string,
    method: string,
    info: RequestInfo,
  ): Promise<boolean> {
    const org = await organizations.findIn(tx, orgUuid);
    if (org?.jit_domains.includes(email.domain) !== true) return people.memberships.isActive(tx, orgUuid, userUuid);
    const { active, joined } = await people.memberships.admit(tx, orgUuid, userUuid);
    const resource = { type: "user", id: userUuid };
    if (joined)
      await audit.record(tx, {
        type: "user.joined",
        outcome: "success",
        userUuid,
        orgUuid,
        info,
        actor: personActor(userUuid, email.address),
        resource,
        metadata: { method },
      });
    return active;
  }

  /** The organization they sign in to: the one asked for where they are an active member, else the one last used. */
  async function organizationFor(tx: Tx, orgUuid: string | null, userUuid: string): Promise<string | null> {
    const asked = orgUuid === null ? undefined : await organizations.findIn(tx, orgUuid);
    if (asked !== undefined && (await people.memberships.isActive(tx, asked.uuid, userUuid))) return asked.uuid;
    return (await people.memberships.lastUsed(tx, userUuid)) ?? null;
  }

  function addressOf(text: string): Email {
    const email = parseEmail(text);
    if (email === undefined) throw new Error("a stored address cannot be read");
    return email;
  }

  return {
    /**
     * Signs in whoever has proven a mailbox, in the transaction that used the proof up; creates the person if need be.
     * The first proof of an unconfirmed address ends what was there before it. Where a second factor is active, joining
     * an organization waits until it has been passed.
     */
    async enter<T extends OpenedSession>(
      tx: Tx,
      proof: ProvenMailbox,
      door: MailboxDoor<T>,
      info: RequestInfo,
    ): Promise<SecondFactorNeeded | { opened: T; standing: Standing }> {
      const email = addressOf(proof.email);
      const { amr, method } = door;
      const { orgUuid } = proof;
      const userUuid = await prove(tx, email, info);
      const joining = proof.joins && orgUuid !== null;
      if (joining && !(await mfa.gatekeeper.isNeeded(tx, userUuid)))
        await join(tx, orgUuid, email, userUuid, method, info);
      const org = await organizationFor(tx, orgUuid, userUuid);
      const standing = await access.standing(tx, userUuid, org);
      if (standing === undefined) throw new Error("a person or membership vanished under a lock");
      const event = { type: "login.magic_link" as const, outcome: "success" as const, userUuid, orgUuid: org, info };
      const continuation = joining
        ? { continuation: { name: JOIN_BY_MAIL, payload: { org_uuid: orgUuid, method } } }
        : {};
      const needed = await mfa.gatekeeper.begin(tx, { standing, amr, info, ...continuation });
      if (needed !== undefined) {
        await audit.record(tx, { ...event, metadata: { method, mfa_required: true } });
        return needed;
      }
      const opened = await door.open(tx, { standing, amr, info });
      await audit.record(tx, { ...event, metadata: { method, session_id: opened.sessionId } });
      return { opened, standing };
    },

    /** Joins the organization once the second factor has been passed. Returns the organization the session acts in. */
    async completeJoining(
      tx: Tx,
      { userUuid, payload }: { userUuid: string; payload: Readonly<Record<string, unknown>> },
      info: RequestInfo,
    ): Promise<string | null> {
      const person = await access.standing(tx, userUuid, null);
      const orgUuid = String(payload["org_uuid"]);
      if (person !== undefined)
        await join(tx, orgUuid, addressOf(person.email), userUuid, String(payload["method"]), info);
      return organizationFor(tx, orgUuid, userUuid);
    },
  };
}

/** The common part of the doors for mailed links and codes. */
export type MailboxEntry = ReturnType<typeof createMailboxEntry>;
