import type { RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import { hashToken, newOpaqueToken } from "../../platform/crypto/opaque.ts";
import type { Tx } from "../../platform/db/types.ts";
import { parseEmail } from "../../platform/email.ts";
import { errors } from "../../platform/errors.ts";
import type { SecondFactorNeeded } from "../mfa/index.ts";
import type { OpenedSession } from "../sessions/index.ts";
import type { SigninDeps } from "./deps.ts";
import { createMailboxEntry } from "./mailbox-entry.ts";
import type { MailboxDoor } from "./mailbox-entry.ts";
import { magicLinkMail } from "./mails.ts";
import { addressee, insertMailToken, useMailToken } from "./store.ts";
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
  const { database, clock, random, post, audit, users, sessions, config } = deps;
  const enter = createMailboxEntry(deps);
  const door: MailboxDoor<OpenedSession> = {
    method: "magic_link",
    amr: ["mail"],
    open: (tx, request) => sessions.open.alone(tx, { ...request, accessTtlMs: config.magicAccessMs }),
  };

  async function open(tx: Tx, link: MailTokenRow, info: RequestInfo): Promise<MagicSignIn | MagicSecondFactor> {
    const redirectTo = link.redirect_to ?? undefined;
    const entered = await enter(tx, { email: link.email, orgUuid: link.org_uuid }, door, info);
    if ("mfaRequired" in entered) return { ...entered, redirectTo };
    const { opened, standing } = entered;
    return { ...opened, user: { userUuid: standing.userUuid, email: standing.email }, redirectTo };
  }

  return {
    /**
     * Mails a link. Known and unknown addresses, existing and other organizations get the same answer, mail and cost.
     * Throws `bad_request` for an address that is none.
     */
    async send(request: MagicLinkRequest, info?: RequestInfo): Promise<{ devToken: string | undefined; expiresInSeconds: number }> {
      const email = parseEmail(request.email);
      if (email === undefined) throw errors.badRequest({ fields: [{ field: "email", code: "format", message: "must be an email address" }] });
      const { token, hash } = newOpaqueToken(random);
      const [at, expiresAt] = [dateOf(clock), dateOf(clock, config.magicLinkMs)];
      const { orgUuid, redirectTo } = request;
      await database.transaction(async (tx) => {
        await insertMailToken(tx, { hash, purpose: "magic_link", email: email.address, emailKey: email.key, orgUuid, redirectTo, at, expiresAt });
        await post.enqueue(tx, magicLinkMail(email.address, config.baseUrl, token, Math.ceil(config.magicLinkMs / 60_000)), expiresAt);
      }, info);
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
      }, info);
      if (signedIn !== undefined) return signedIn;
      const metadata = { method: "magic_link", code: "unauthorized" };
      const spent = await addressee(database, hash, "magic_link");
      const whose = spent === undefined ? { userUuid: null, orgUuid: null } : await users.memberships.wouldEnter(spent.email_key, spent.org_uuid);
      await audit.recordFailure({ type: "login.magic_link", ...whose, info, metadata });
      throw errors.unauthorized({ message: "The link is unknown, expired or was used before; ask for a new one." });
    },
  };
}
