import { createHash } from "node:crypto";
import { dateOf } from "../../platform/clock.ts";
import { amrOf, personRequired } from "../../platform/caller.ts";
import type { RequestInfo } from "../../platform/caller.ts";
import type { CallerContext, RequestContext } from "../../platform/context.ts";
import { hashToken } from "../../platform/crypto/opaque.ts";
import type { Tx } from "../../platform/db/types.ts";
import { ServiceError } from "../../platform/errors.ts";
import { certain } from "../../platform/narrow.ts";
import type { Standing } from "../access/index.ts";
import { EVENTS, withoutActor } from "../event-catalogue/index.ts";
import type { SecondFactorNeeded } from "../mfa/index.ts";
import type { OpenedPair, Opening } from "../sessions/index.ts";
import { createAdmission } from "./admission.ts";
import { keepConnection } from "./connection-store.ts";
import type { OidcDeps } from "./deps.ts";
import { oidcErrors } from "./errors.ts";
import { LINKED, redeemSessionToken } from "./flow-store.ts";
import type { Redeemed } from "./flow-store.ts";
import { insertSessionOrigin, markOwnLink, personOf } from "./identity-store.ts";
import { isLoggedOut } from "./logout-store.ts";
import { bindingCookie } from "./rules.ts";

/** A session token to redeem. */
export interface Redemption {
  sessionToken: string;
  /** Verifier of the challenge that `authorize` was given. */
  codeVerifier: string | undefined;
  /** Values of the cookies that bind sign-ins to this browser. */
  bindings: readonly string[];
}

/** The outcome of a redemption, and the `Set-Cookie` that ends the cookie of its sign-in. */
export interface RedeemedBy<T> {
  outcome: T;
  /** Undefined where the browser did not send that cookie. */
  endCookie: string | undefined;
}

/** Name of the stored step that completes a sign-in after MFA. */
export const ENTER_BY_OIDC = "enter_by_oidc";

type Payload = Readonly<Record<string, unknown>>;

/** What a person is in the transaction that signs them in; `standing` undefined for no active member. */
interface Present {
  standing: Standing | undefined;
  mfaRequired: boolean;
}

/** What session tokens are exchanged for (decisions 8.3, 8.4). */
export function createExchange(deps: OidcDeps) {
  const { clock, events, access, sessions, mfa } = deps;
  const { admit, link, recordLink } = createAdmission(deps);

  /** Uses the token up in this transaction: a refusal leaves it as it was. */
  async function redeem(
    tx: Tx,
    { sessionToken, codeVerifier, bindings }: Redemption,
    hash = hashToken(sessionToken),
  ): Promise<Redeemed> {
    const codeChallenge =
      codeVerifier === undefined ? null : createHash("sha256").update(codeVerifier, "utf8").digest("base64url");
    const cookieHashes = bindings.map((value) => hashToken(value));
    const presenter = { codeChallenge, cookieHashes };
    const token = await redeemSessionToken(tx, hash, presenter, dateOf(clock));
    if (token === undefined) throw oidcErrors.sessionToken();
    return token;
  }

  /** The `Set-Cookie` that ends the cookie of a sign-in which is over: browsers keep it for minutes otherwise. */
  function endCookieOf({ cookieHash }: Redeemed, { bindings }: Redemption): string | undefined {
    if (!bindings.some((value) => hashToken(value).equals(cookieHash))) return undefined;
    return bindingCookie({ hash: cookieHash, value: "", maxAgeMs: 0 }, deps.config.baseUrl);
  }

  /** Sent without waiting for each other: the second factor is looked up once the person is locked. */
  async function presentOf(tx: Tx, userUuid: string, orgUuid: string): Promise<Present> {
    const [standing, mfaRequired] = await Promise.all([
      access.standing(tx, userUuid, orgUuid),
      mfa.isRequired(tx, userUuid),
    ]);
    return { standing, mfaRequired };
  }

  /** The same of the person whom the identity behind a session token is linked to, without waiting for who that is. */
  async function presentOfLinked(tx: Tx, hash: Buffer): Promise<Present> {
    const [standing, factor] = await Promise.all([
      access.standingOf(tx, LINKED, [hash]),
      mfa.isRequiredOf(tx, LINKED, [hash]),
    ]);
    // A link can end, and begin anew with somebody else, between two statements.
    if (factor === undefined || factor.userUuid !== standing?.userUuid)
      return { standing: undefined, mfaRequired: true };
    return { standing, mfaRequired: factor.isRequired };
  }

  async function enter(
    tx: Tx,
    redemption: Redemption,
    info: RequestInfo,
    onRedeemed: (token: Redeemed) => void,
  ): Promise<RedeemedBy<Opening<OpenedPair> | SecondFactorNeeded>> {
    const hash = hashToken(redemption.sessionToken);
    const redeemed = redeem(tx, redemption, hash);
    // Travels with the redemption; most identities are linked.
    const linked = presentOfLinked(tx, hash);
    linked.catch(() => undefined);
    const token = await redeemed;
    onRedeemed(token);
    const endCookie = endCookieOf(token, redemption);
    const { connectionUuid, orgUuid, subject, sid } = token;
    const { userUuid, links } = await admit(tx, token, info);
    const present = await (userUuid === token.userUuid ? linked : presentOf(tx, userUuid, orgUuid));
    const { standing, mfaRequired } = present;
    if (standing?.userUuid !== userUuid) throw oidcErrors.notMember();
    const event = { by: withoutActor(userUuid, info), orgUuid };
    const metadata = { connection_uuid: connectionUuid, amr: ["fed"] };
    if (mfaRequired) {
      const payload = { connection_uuid: connectionUuid, subject, sid, signed_in_at: token.at.toISOString() };
      const next = { name: ENTER_BY_OIDC, payload };
      const needed = await mfa.requestSecondFactor(tx, { standing, amr: ["fed"], info, next });
      await events.emit(tx, EVENTS["login.oidc"], { ...event, metadata: { ...metadata, mfa_required: true } });
      return { outcome: certain(needed, "a second factor of a person who has one"), endCookie };
    }
    if (links && !(await link(tx, token, standing, info))) throw oidcErrors.linkRequired();
    const opening = sessions.open.pairLater(tx, { standing, amr: ["fed"], info, providerOrgUuid: orgUuid });
    const { sessionId } = opening;
    insertSessionOrigin(tx, { connectionUuid, subject, sid, sessionUuid: sessionId });
    await events.emit(tx, EVENTS["login.oidc"], { ...event, metadata: { ...metadata, session_id: sessionId } });
    return { outcome: opening, endCookie };
  }

  return {
    /**
     * Exchanges a session token for a token pair, once, or for the request for the second factor.
     * @throws {unauthorized} when the token is unknown, used or expired, or neither verifier nor cookie is right
     * @throws {link_required} when the address belongs to somebody whom it does not link to; the token stays good
     * @throws {forbidden} when the person is no active member of the organization
     */
    async exchange(
      context: RequestContext,
      redemption: Redemption,
    ): Promise<RedeemedBy<OpenedPair | SecondFactorNeeded>> {
      const { info } = context;
      let token: Redeemed | undefined;
      try {
        const entered = context.transaction((tx) => enter(tx, redemption, info, (redeemed) => (token = redeemed)));
        const { outcome, endCookie } = await entered;
        return { outcome: "sign" in outcome ? await outcome.sign() : outcome, endCookie };
      } catch (error) {
        if (token !== undefined && error instanceof ServiceError && error.status === 403) {
          const { connectionUuid, orgUuid, userUuid } = token;
          const metadata = { code: error.code, connection_uuid: connectionUuid };
          const by = withoutActor(userUuid, info);
          await events.recordFailure(EVENTS["login.oidc"], { by, orgUuid, metadata });
        }
        throw error;
      }
    },

    /**
     * Links the identity behind a session token to the signed-in person; makes no membership. An identity that has
     * linked itself becomes one that the person linked, unless the present session was opened by a provider too.
     * @throws {link_required} when the provider that opened the session does not vouch for the person in the
     * connection's organization; the token stays valid
     * @throws {unauthorized} when the token is unknown, used or expired, or neither verifier nor cookie is right
     * @throws {conflict} when the identity is linked to somebody, or the person has another one linked
     */
    link: (context: CallerContext, redemption: Redemption): Promise<RedeemedBy<undefined>> =>
      context.transaction(async (tx) => {
        const { userUuid, email } = context.caller;
        if (userUuid === null) throw personRequired();
        const amr = amrOf(context.caller);
        const byPerson = amr.length > 0 && !amr.includes("fed");
        const token = await redeem(tx, redemption);
        const vouched = await sessions.proofs.vouchedOrg(tx, context.caller);
        if (vouched !== undefined && vouched !== token.orgUuid) throw oidcErrors.signInOtherwise();
        const person = { userUuid, email: certain(email, "address of a person") };
        const redeemed = { outcome: undefined, endCookie: endCookieOf(token, redemption) };
        if (await link(tx, token, person, context.info, byPerson)) return redeemed;
        const linked = await personOf(tx, token.connectionUuid, token.subject);
        if (linked !== userUuid) throw oidcErrors.linkedElsewhere();
        if (byPerson && (await markOwnLink(tx, token.connectionUuid, token.subject)))
          await recordLink(tx, token, person, context.info);
        return redeemed;
      }),

    /** Sign-ins that the second factor completes. */
    secondFactor: {
      /** Links the identity, if it is not linked yet. Returns the organization the session acts in. */
      async resume(tx: Tx, userUuid: string, payload: Payload, info: RequestInfo): Promise<string> {
        const connection = await keepConnection(tx, String(payload["connection_uuid"]));
        if (connection === undefined) throw oidcErrors.sessionToken();
        const standing = await access.standing(tx, userUuid, connection.orgUuid);
        if (standing === undefined) throw oidcErrors.sessionToken();
        const subject = String(payload["subject"]);
        if (await isLoggedOut(tx, signInOf(payload))) throw oidcErrors.sessionToken();
        const linked = await personOf(tx, connection.uuid, subject);
        const identity = { connectionUuid: connection.uuid, orgUuid: connection.orgUuid, subject };
        const isTheirs = linked === userUuid || (await link(tx, identity, standing, info));
        if (!isTheirs) throw oidcErrors.linkRequired();
        return connection.orgUuid;
      },

      inherited: (_tx: Tx, _payload: Payload, orgUuid: string | null) => ({ providerOrgUuid: orgUuid }),

      /** Stores which identity opened the session. */
      opened(tx: Tx, sessionUuid: string, payload: Payload): void {
        insertSessionOrigin(tx, { sessionUuid, ...signInOf(payload) });
      },
    },
  };
}

/** The sign-in at the provider that waited for the second factor. */
function signInOf(payload: Payload) {
  return {
    connectionUuid: String(payload["connection_uuid"]),
    subject: String(payload["subject"]),
    sid: typeof payload["sid"] === "string" ? payload["sid"] : null,
    at: new Date(typeof payload["signed_in_at"] === "string" ? payload["signed_in_at"] : 0),
  };
}
