import type { RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import { hashToken, newOpaqueToken } from "../../platform/crypto/opaque.ts";
import type { Tx } from "../../platform/db/types.ts";
import { parseEmail } from "../../platform/email.ts";
import type { Email } from "../../platform/email.ts";
import { errors } from "../../platform/errors.ts";
import type { SecondFactorNeeded } from "../mfa/index.ts";
import type { OpenedSession } from "../sessions/index.ts";
import type { SigninDeps } from "./deps.ts";
import { createMailboxProof } from "./mailbox-proof.ts";
import { magicLinkMail } from "./mails.ts";
import { insertMailToken, useMailToken } from "./store.ts";
import type { MailTokenRow } from "./store.ts";

/** A magic link to be sent. */
export interface MagicLinkRequest {
  email: string;
  /** Organization to join where it admits the mail domain. */
  orgUuid?: string | undefined;
  /** Echoed at verify. */
  redirectTo?: string | undefined;
}

/** The token of a magic link and the person behind it. */
export interface MagicSignIn extends OpenedSession {
  user: { userUuid: string; email: string };
  redirectTo: string | undefined;
}

/** The call for the second factor of somebody who opened a link. */
export interface MagicSecondFactor extends SecondFactorNeeded {
  redirectTo: string | undefined;
}

/** The door for mailed links (decisions 3.6). */
export function createMagicLink(deps: SigninDeps) {
  const { database, clock, random, post, audit, orgs, users, access, sessions, mfa, config } = deps;
  const prove = createMailboxProof(deps);

  /** The organization a link signs in to: the one asked for where it admits the person, else the one last used. */
  async function organizationFor(tx: Tx, link: MailTokenRow, email: Email, userUuid: string, info: RequestInfo): Promise<string | null> {
    const asked = link.org_uuid === null ? undefined : await orgs.findIn(tx, link.org_uuid);
    if (asked !== undefined && (await belongs(tx, asked.uuid, asked.jit_domains.includes(email.domain), userUuid, info))) return asked.uuid;
    return (await users.memberships.lastUsed(tx, userUuid)) ?? null;
  }

  async function belongs(tx: Tx, orgUuid: string, admits: boolean, userUuid: string, info: RequestInfo): Promise<boolean> {
    if (!admits) return users.memberships.isActive(tx, orgUuid, userUuid);
    const { active, joined } = await users.memberships.admit(tx, orgUuid, userUuid);
    const resource = { type: "user", id: userUuid };
    if (joined) await audit.record(tx, { type: "user.joined", outcome: "success", userUuid, orgUuid, info, resource, metadata: { method: "magic_link" } });
    return active;
  }

  async function open(tx: Tx, link: MailTokenRow, info: RequestInfo): Promise<MagicSignIn | MagicSecondFactor> {
    const email = parseEmail(link.email);
    if (email === undefined) throw new Error("a stored address cannot be read");
    const userUuid = await prove(tx, email, info);
    const org = await organizationFor(tx, link, email, userUuid, info);
    await tx.em.flush();
    const standing = await access.standing(tx, userUuid, org);
    if (standing === undefined) throw new Error("a person or membership vanished under a lock");
    const redirectTo = link.redirect_to ?? undefined;
    const event = { type: "login.magic_link" as const, outcome: "success" as const, userUuid, orgUuid: org, info };
    const needed = await mfa.gatekeeper.begin(tx, { standing, amr: ["mail"], info });
    if (needed !== undefined) {
      await audit.record(tx, { ...event, metadata: { method: "magic_link", mfa_required: true } });
      return { ...needed, redirectTo };
    }
    const opened = await sessions.open.alone(tx, { standing, amr: ["mail"], info, accessTtlMs: config.magicAccessMs });
    await audit.record(tx, { ...event, metadata: { method: "magic_link", session_id: opened.sessionId } });
    return { ...opened, user: { userUuid, email: standing.email }, redirectTo };
  }

  return {
    /**
     * Mails a link. Known and unknown addresses, existing and other organizations get the same answer, mail and cost.
     * Throws `bad_request` for an address that is none.
     */
    async send(request: MagicLinkRequest): Promise<{ devToken: string | undefined; expiresInSeconds: number }> {
      const email = parseEmail(request.email);
      if (email === undefined) throw errors.badRequest({ fields: [{ field: "email", code: "format", message: "must be an email address" }] });
      const { token, hash } = newOpaqueToken(random);
      const [at, expiresAt] = [dateOf(clock), dateOf(clock, config.magicLinkMs)];
      const { orgUuid, redirectTo } = request;
      await database.transaction(async (tx) => {
        await insertMailToken(tx, { hash, purpose: "magic_link", email: email.address, emailKey: email.key, orgUuid, redirectTo, at, expiresAt });
        await post.enqueue(tx, magicLinkMail(email.address, config.baseUrl, token, Math.ceil(config.magicLinkMs / 60_000)), expiresAt);
      });
      return { devToken: config.magicLinkDevEcho ? token : undefined, expiresInSeconds: Math.floor(config.magicLinkMs / 1000) };
    },

    /**
     * Signs in with the token of a link, once, or asks for the second factor; makes the person if need be. Throws
     * `unauthorized` for any other token.
     */
    async verify(token: string, info: RequestInfo): Promise<MagicSignIn | MagicSecondFactor> {
      const hash = hashToken(token);
      const signedIn = await database.transaction(async (tx) => {
        const link = await useMailToken(tx, hash, "magic_link", dateOf(clock));
        return link === undefined ? undefined : open(tx, link, info);
      });
      if (signedIn !== undefined) return signedIn;
      const metadata = { method: "magic_link", code: "unauthorized" };
      await audit.recordFailure({ type: "login.magic_link", userUuid: null, orgUuid: null, info, metadata });
      throw errors.unauthorized();
    },
  };
}
