import type { RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import { hashToken, newOpaqueToken } from "../../platform/crypto/opaque.ts";
import type { Tx } from "../../platform/db/types.ts";
import { parseEmail } from "../../platform/email.ts";
import type { Email } from "../../platform/email.ts";
import { errors } from "../../platform/errors.ts";
import type { SecondFactorNeeded } from "../mfa/index.ts";
import type { OpenedSession } from "../sessions/index.ts";
import type { LoginDeps } from "./deps.ts";
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
export function createMagicLink(deps: LoginDeps) {
  const { database, clock, random, audit, organizations, people, sessions, config } = deps;
  const { enter } = createMailboxEntry(deps);
  const door: MailboxDoor<OpenedSession> = {
    method: "magic_link",
    amr: ["mail"],
    open: (tx, request) => sessions.open.alone(tx, { ...request, accessTtlMs: config.magicAccessMs }),
  };

  /**
   * What a link means for the organization it names; undefined where it means nothing, which nobody but the recipient
   * may learn.
   */
  async function concern(tx: Tx, orgUuid: string, email: Email): Promise<{ name: string; joins: boolean } | undefined> {
    const [org, status] = await Promise.all([
      organizations.findIn(tx, orgUuid),
      people.memberships.statusOf(tx, orgUuid, email.key),
    ]);
    if (org === undefined) return undefined;
    if (status === "active") return { name: org.name, joins: false };
    return status === undefined && org.jit_domains.includes(email.domain) ? { name: org.name, joins: true } : undefined;
  }

  async function open(tx: Tx, link: MailTokenRow, info: RequestInfo): Promise<MagicSignIn | MagicSecondFactor> {
    const redirectTo = link.redirect_to ?? undefined;
    const entered = await enter(tx, { email: link.email, orgUuid: link.org_uuid, joins: link.joins }, door, info);
    if ("mfaRequired" in entered) return { ...entered, redirectTo };
    const { opened, standing } = entered;
    return { ...opened, user: { userUuid: standing.userUuid, email: standing.email }, redirectTo };
  }

  return {
    /**
     * Mails a link. The answer is the same for known and unknown addresses and whatever the organization; the mail
     * names the organization it concerns, and says when the link also joins it. Throws `bad_request` for an address
     * that is none, 503 `unavailable` when mail is off.
     */
    async send(
      request: MagicLinkRequest,
      info?: RequestInfo,
    ): Promise<{ devToken: string | undefined; expiresInSeconds: number }> {
      const email = parseEmail(request.email);
      if (email === undefined)
        throw errors.badRequest({ fields: [{ field: "email", code: "format", message: "must be an email address" }] });
      people.mails.demandMail();
      const { token, hash } = newOpaqueToken(random);
      const [at, expiresAt] = [dateOf(clock), dateOf(clock, config.magicLinkMs)];
      const redirectTo = request.redirectTo || undefined;
      const orgUuid = request.orgUuid || undefined;
      const [url, minutes] = [`${config.baseUrl}/magic-link?token=${token}`, Math.ceil(config.magicLinkMs / 60_000)];
      await database.transaction(async (tx) => {
        const concerned = orgUuid === undefined ? undefined : await concern(tx, orgUuid, email);
        const joins = concerned?.joins ?? false;
        await insertMailToken(tx, {
          hash,
          purpose: "magic_link",
          email: email.address,
          emailKey: email.key,
          orgUuid,
          joins,
          redirectTo,
          at,
          expiresAt,
        });
        const write = (sender: string) => magicLinkMail(sender, { url, minutes, joins });
        await people.mails.send(tx, { to: email.address, organization: concerned?.name, write }, expiresAt);
      }, info);
      return {
        devToken: config.magicLinkDevEcho ? token : undefined,
        expiresInSeconds: Math.floor(config.magicLinkMs / 1000),
      };
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
      const whose =
        spent === undefined
          ? { userUuid: null, orgUuid: null }
          : await people.memberships.wouldEnter(spent.email_key, spent.org_uuid);
      await audit.recordFailure({ type: "login.magic_link", ...whose, info, metadata });
      throw errors.unauthorized({ message: "The link is unknown, expired or was used before; ask for a new one." });
    },
  };
}
