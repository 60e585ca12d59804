import type { RequestInfo } from "../../platform/caller.ts";
import type { Tx } from "../../platform/db/types.ts";
import { parseEmail } from "../../platform/email.ts";
import type { Email } from "../../platform/email.ts";
import type { Standing } from "../access/index.ts";
import { personActor } from "../audit/index.ts";
import type { SecondFactorNeeded } from "../mfa/index.ts";
import type { OrganizationRow } from "../orgs/index.ts";
import type { OpenedSession, OpenRequest } from "../sessions/index.ts";
import type { SigninDeps } from "./deps.ts";
import { createMailboxProof } from "./mailbox-proof.ts";

/** A mailbox somebody has just proven to have. */
export interface ProvenMailbox {
  /** As stored with the link or code. */
  email: string;
  /** Organization to act in, where it admits them. */
  orgUuid: string | null;
}

/** The door they came through. */
export interface MailboxDoor<T extends OpenedSession> {
  /** For the audit log. */
  method: "magic_link" | "otp";
  amr: readonly string[];
  /** Opens the kind of session the door gives. */
  open(tx: Tx, request: OpenRequest): Promise<T>;
}

/** What doors for mailed links and codes have in common (decisions 3.6, 3.8). */
export function createMailboxEntry(deps: Pick<SigninDeps, "audit" | "orgs" | "users" | "access" | "sessions" | "mfa">) {
  const { audit, orgs, users, access, mfa } = deps;
  const prove = createMailboxProof(deps);

  /** The organization they sign in to: the one asked for where it admits them, else the one last used. */
  async function organizationFor(tx: Tx, orgUuid: string | null, email: Email, userUuid: string, method: string, info: RequestInfo): Promise<string | null> {
    const asked = orgUuid === null ? undefined : await orgs.findIn(tx, orgUuid);
    if (asked !== undefined && (await belongs(tx, asked, email, userUuid, method, info))) return asked.uuid;
    return (await users.memberships.lastUsed(tx, userUuid)) ?? null;
  }

  async function belongs(tx: Tx, { uuid: orgUuid, jit_domains }: OrganizationRow, email: Email, userUuid: string, method: string, info: RequestInfo): Promise<boolean> {
    if (!jit_domains.includes(email.domain)) return users.memberships.isActive(tx, orgUuid, userUuid);
    const { active, joined } = await users.memberships.admit(tx, orgUuid, userUuid);
    const resource = { type: "user", id: userUuid };
    if (joined) await audit.record(tx, { type: "user.joined", outcome: "success", userUuid, orgUuid, info, actor: personActor(userUuid, email.address), resource, metadata: { method } });
    return active;
  }

  /**
   * Signs in whoever has proven a mailbox, in the transaction that used the proof up; makes the person if need be. The
   * first proof ends what was there before it.
   */
  return async function enter<T extends OpenedSession>(
    tx: Tx, proof: ProvenMailbox, door: MailboxDoor<T>, info: RequestInfo,
  ): Promise<SecondFactorNeeded | { opened: T; standing: Standing }> {
    const email = parseEmail(proof.email);
    if (email === undefined) throw new Error("a stored address cannot be read");
    const { amr, method } = door;
    const userUuid = await prove(tx, email, info);
    const org = await organizationFor(tx, proof.orgUuid, email, userUuid, method, info);
    await tx.em.flush();
    const standing = await access.standing(tx, userUuid, org);
    if (standing === undefined) throw new Error("a person or membership vanished under a lock");
    const event = { type: "login.magic_link" as const, outcome: "success" as const, userUuid, orgUuid: org, info };
    const needed = await mfa.gatekeeper.begin(tx, { standing, amr, info });
    if (needed !== undefined) {
      await audit.record(tx, { ...event, metadata: { method, mfa_required: true } });
      return needed;
    }
    const opened = await door.open(tx, { standing, amr, info });
    await audit.record(tx, { ...event, metadata: { method, session_id: opened.sessionId } });
    return { opened, standing };
  };
}

/** The common part of the doors for mailed links and codes. */
export type MailboxEntry = ReturnType<typeof createMailboxEntry>;
