import { dateOf } from "../../platform/clock.ts";
import type { RequestContext } from "../../platform/context.ts";
import { hashToken, newOpaqueToken } from "../../platform/crypto/opaque.ts";
import type { Tx } from "../../platform/db/types.ts";
import { parseEmail } from "../../platform/email.ts";
import type { Email } from "../../platform/email.ts";
import { errors } from "../../platform/errors.ts";
import { EVENTS, withoutActor } from "../event-catalogue/index.ts";
import type { SecondFactorNeeded } from "../mfa/index.ts";
import type { OpenedPair, OpenedSession } from "../sessions/index.ts";
import type { LoginDeps } from "./deps.ts";
import type { MailMethod, MailSignIn } from "./mail-sign-in.ts";
import { magicLinkMail } from "./mails.ts";
import { namedOrganization } from "./named-organization.ts";
import { createSsoRefusals } from "./sso-refusal.ts";
import { addressee, insertMailToken, useMailToken } from "./store.ts";

/** A magic link to send. */
export interface MagicLinkRequest {
  email: string;
  /** Organization to join, if it admits the mail domain. */
  orgUuid?: string | undefined;
  /** Its name, where the id is not known; without effect when no organization has it. */
  orgName?: string | undefined;
  /** Returned by `verify`. */
  redirectTo?: string | undefined;
}

/** The token of a magic link and the person it signs in. */
export interface MagicLinkLogin extends OpenedSession {
  /** In cookie mode alone. */
  refreshToken?: string | undefined;
  user: { userUuid: string; email: string };
  redirectTo: string | undefined;
}

/** The request for the second factor after a magic link. */
export interface MagicLinkSecondFactor extends SecondFactorNeeded {
  redirectTo: string | undefined;
}

/** Sign-in by mailed links (decisions 3.6). */
export function createMagicLink(deps: LoginDeps, { signIn }: MailSignIn) {
  const { database, clock, random, events, organizations, people, sessions, config } = deps;
  const ssoRefusals = createSsoRefusals(deps);
  const accessTtlMs = config.magicAccessMs;
  const method: MailMethod<OpenedSession | OpenedPair> = {
    name: "magic_link",
    amr: ["mail"],
    // In cookie mode the session ends with its access token too, and until then it can be renewed from the cookie.
    open: (tx, request) =>
      request.info.cookieMode === undefined
        ? sessions.open.alone(tx, { ...request, accessTtlMs })
        : sessions.open.pair(tx, { ...request, accessTtlMs, sessionTtlMs: accessTtlMs }),
  };

  /**
   * What a link does in the organization it names; undefined when it does nothing there, which only the recipient may
   * learn.
   */
  async function effectOf(
    tx: Tx,
    orgUuid: string,
    email: Email,
  ): Promise<{ name: string; joins: boolean } | undefined> {
    const [org, status] = await Promise.all([
      organizations.findIn(tx, orgUuid),
      people.memberships.statusOf(tx, orgUuid, email.key),
    ]);
    if (org === undefined) return undefined;
    if (status === "active") return { name: org.name, joins: false };
    return status === undefined && org.jitDomains.includes(email.domain) ? { name: org.name, joins: true } : undefined;
  }

  return {
    /**
     * Mails a link. The response is the same for known and unknown addresses and whatever the organization; the mail
     * names the organization, and says when the link also joins it.
     * @throws {bad_request} when the address is not valid
     * @throws {unavailable} when mail is off
     */
    async send(
      context: RequestContext,
      request: MagicLinkRequest,
    ): Promise<{ devToken: string | undefined; expiresInSeconds: number }> {
      const email = parseEmail(request.email);
      if (email === undefined)
        throw errors.badRequest({ fields: [{ field: "email", code: "format", message: "must be an email address" }] });
      people.mails.demandMail();
      const { token, hash } = newOpaqueToken(random);
      const [at, expiresAt] = [dateOf(clock), dateOf(clock, config.magicLinkMs)];
      const redirectTo = request.redirectTo || undefined;
      const orgUuid = await namedOrganization(organizations, request);
      const [url, minutes] = [`${config.baseUrl}/magic-link#token=${token}`, Math.ceil(config.magicLinkMs / 60_000)];
      await context.transaction(async (tx) => {
        const effect = orgUuid === undefined ? undefined : await effectOf(tx, orgUuid, email);
        const joins = effect?.joins ?? false;
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
        await people.mails.send(tx, { to: email.address, organization: effect?.name, write }, expiresAt);
      });
      return {
        devToken: config.magicLinkDevEcho ? token : undefined,
        expiresInSeconds: Math.floor(config.magicLinkMs / 1000),
      };
    },

    /**
     * Signs in with the token of a link, once, or asks for the second factor; creates the person if necessary.
     * @throws {unauthorized} when the token is unknown, used or expired
     */
    async verify(context: RequestContext, token: string): Promise<MagicLinkLogin | MagicLinkSecondFactor> {
      const { info } = context;
      const hash = hashToken(token);
      const whose = async () => {
        const link = await addressee(database, hash, "magic_link");
        return link === undefined
          ? { userUuid: null, orgUuid: null }
          : people.memberships.wouldEnter(link.emailKey, link.orgUuid);
      };
      const work = context.transaction(async (tx) => {
        const link = await useMailToken(tx, hash, "magic_link", dateOf(clock));
        if (link === undefined) return undefined;
        const redirectTo = link.redirectTo ?? undefined;
        const mailbox = { email: link.email, orgUuid: link.orgUuid, joins: link.joins };
        const outcome = await signIn(tx, mailbox, method, info);
        if ("mfaRequired" in outcome) return { ...outcome, redirectTo };
        const { opened, standing } = outcome;
        return { ...opened, user: { userUuid: standing.userUuid, email: standing.email }, redirectTo };
      });
      const metadata = { method: "magic_link" };
      const signedIn = await ssoRefusals(work, info, async () => ({
        event: "login.magic_link",
        ...(await whose()),
        metadata,
      }));
      if (signedIn !== undefined) return signedIn;
      const { userUuid, orgUuid } = await whose();
      await events.recordFailure(EVENTS["login.magic_link"], {
        by: withoutActor(userUuid, info),
        orgUuid,
        metadata: { ...metadata, code: "unauthorized" },
      });
      throw errors.unauthorized({ message: "The link is unknown, expired or was used before; ask for a new one." });
    },
  };
}
