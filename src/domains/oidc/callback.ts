import { dateOf } from "../../platform/clock.ts";
import type { RequestContext } from "../../platform/context.ts";
import { hashToken, newOpaqueToken } from "../../platform/crypto/opaque.ts";
import { databaseTime } from "../../platform/db/time.ts";
import { ServiceError } from "../../platform/errors.ts";
import { personName, shortPersonName, splitPersonName } from "../../platform/names.ts";
import { EVENTS, withoutActor } from "../event-catalogue/index.ts";
import { callbackUri, stateContext } from "./authorize.ts";
import type { Redirect } from "./authorize.ts";
import type { Connection } from "./connection-store.ts";
import type { OidcDeps } from "./deps.ts";
import { ProviderFault } from "./discovery.ts";
import { oidcErrors } from "./errors.ts";
import { insertSessionToken, useState } from "./flow-store.ts";
import type { UsedState } from "./flow-store.ts";
import type { Identity, Providers, Secrets } from "./provider.ts";
import { admittedEmail, bindingCookie, registeredRedirects, withQuery } from "./rules.ts";

/** What the provider sends back through the browser. */
export interface CallbackRequest {
  connectionUuid: string;
  code?: string | undefined;
  state?: string | undefined;
  iss?: string | undefined;
  error?: string | undefined;
  errorDescription?: string | undefined;
  /** Values of the cookies that bind sign-ins to this browser. */
  bindings: readonly string[];
}

type State = NonNullable<UsedState["state"]>;

/** The way back from the provider (decisions 8.2, 8.5). */
export function createCallback(deps: OidcDeps, providers: Providers) {
  const { database, clock, random, sealer, events, config } = deps;

  /**
   * Demands a state that was good and has been used up, the issuer that the browser was sent to, and a redirect URI
   * that is registered still.
   */
  function demandState({ connection, state }: UsedState, { iss }: CallbackRequest): State {
    if (state === null || (iss === undefined ? state.sendsIssuer : iss !== state.issuer))
      throw oidcErrors.invalidState();
    if (!registeredRedirects(connection, config.baseUrl).includes(state.redirectUri)) throw oidcErrors.invalidState();
    return state;
  }

  function exchange(connection: Connection, state: State, request: CallbackRequest): Promise<Identity> {
    const { error, errorDescription, code } = request;
    // The provider's own words are for the log alone.
    if (error !== undefined && error !== "")
      throw oidcErrors.providerError({ cause: new Error(`${error}: ${errorDescription ?? ""}`.slice(0, 500)) });
    if (code === undefined || code === "") throw oidcErrors.missingCode();
    const secrets = JSON.parse(sealer.open(state.secrets, stateContext(state.hash)).toString("utf8")) as Secrets;
    return providers
      .exchange(connection, {
        ...secrets,
        code,
        state: request.state ?? "",
        iss: request.iss,
        redirectUri: callbackUri(config.baseUrl, connection.uuid),
      })
      .catch((cause: unknown) => {
        throw cause instanceof ProviderFault
          ? oidcErrors.providerError({ cause })
          : oidcErrors.exchangeFailed({ cause });
      });
  }

  async function complete(used: UsedState, request: CallbackRequest): Promise<Redirect> {
    const { connection } = used;
    const state = demandState(used, request);
    const { subject, sid, claims } = await exchange(connection, state, request);
    const email = admittedEmail(claims, connection.allowedDomains);
    if (email === undefined) throw oidcErrors.domainMismatch();
    const [firstName, lastName] = namesOf(claims);
    const { token, hash } = newOpaqueToken(random);
    const isStored = await insertSessionToken(database, {
      hash,
      connectionUuid: connection.uuid,
      subject,
      sid,
      email: email.address,
      firstName,
      lastName,
      cookieHash: state.cookieHash,
      codeChallenge: state.codeChallenge,
      now: databaseTime(clock),
      expiresAt: dateOf(clock, config.sessionTokenMs),
    });
    // Deleted while the provider was asked.
    if (!isStored) throw oidcErrors.invalidConnection();
    const location = withQuery(state.redirectUri, { session_token: token, state: state.clientState });
    // The verifier redeems the token then, and no cookie; a client that is not below its path could not end it.
    if (state.codeChallenge === null) return { location };
    const ended = { hash: state.cookieHash, value: "", maxAgeMs: 0 };
    return { location, cookie: bindingCookie(ended, config.baseUrl) };
  }

  /**
   * Completes the conversation with the provider: where to send the browser, with a session token.
   * @throws {invalid_connection} when there is no such connection
   * @throws {invalid_state} when state, cookie or `iss` are not those of a sign-in under way, or its redirect URI is
   * registered no more
   * @throws {provider_error} when the provider reports an error
   * @throws {missing_code} when there is no code
   * @throws {token_exchange_failed} when the code is refused or the ID token does not verify
   * @throws {provider_error} when the provider cannot be reached, or a document of it cannot be used
   * @throws {domain_mismatch} when there is no verified address of an admitted domain
   */
  return async function callback(context: RequestContext, request: CallbackRequest): Promise<Redirect> {
    const { state = "", bindings, connectionUuid } = request;
    const cookieHashes = bindings.map((value) => hashToken(value));
    const key = { hash: hashToken(state), connectionUuid, cookieHashes, at: dateOf(clock) };
    const used = await useState(database, key);
    try {
      if (used === undefined) throw oidcErrors.invalidConnection();
      return await complete(used, request);
    } catch (error) {
      if (error instanceof ServiceError && error.status !== 503) {
        await events.recordFailure(EVENTS["login.oidc"], {
          by: withoutActor(null, context.info),
          orgUuid: used?.connection.orgUuid ?? null,
          metadata: { code: error.code, connection_uuid: connectionUuid },
        });
      }
      throw error;
    }
  };
}

/** Given and family name; those in `name` where the provider sends neither. */
function namesOf(claims: Identity["claims"]): [first: string, last: string] {
  const [first, last] = [visible(claims["given_name"]), visible(claims["family_name"])].map(personName);
  const names = first || last ? [first, last] : splitPersonName(visible(claims["name"]));
  return [shortPersonName(names[0] ?? ""), shortPersonName(names[1] ?? "")];
}

/** A name without characters that nobody sees, except the joiners, which Persian and Hindi are spelled with. */
function visible(claim: unknown): string {
  return typeof claim === "string" ? claim.replace(/[[\p{Cc}\p{Cf}\p{Cs}]--[\u200c\u200d]]/gv, "") : "";
}
