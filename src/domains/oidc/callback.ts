import { dateOf } from "../../platform/clock.ts";
import type { RequestContext } from "../../platform/context.ts";
import { hashToken, newOpaqueToken } from "../../platform/crypto/opaque.ts";
import { ServiceError } from "../../platform/errors.ts";
import { EVENTS, withoutActor } from "../event-catalogue/index.ts";
import { callbackUri, stateContext } from "./authorize.ts";
import type { Redirect } from "./authorize.ts";
import { findConnection } from "./connection-store.ts";
import type { Connection } from "./connection-store.ts";
import type { OidcDeps } from "./deps.ts";
import { ProviderFault } from "./discovery.ts";
import { oidcErrors } from "./errors.ts";
import { insertSessionToken, useState } from "./flow-store.ts";
import type { StoredState } from "./flow-store.ts";
import type { Identity, Providers, Secrets } from "./provider.ts";
import { admittedEmail, withQuery } from "./rules.ts";

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

const MAX_NAME = 100;

/** The way back from the provider (decisions 8.2, 8.5). */
export function createCallback(deps: OidcDeps, providers: Providers) {
  const { database, clock, random, sealer, events, config } = deps;

  /** Uses the state up once state and cookie are right. */
  async function takeState(context: RequestContext, connection: Connection, request: CallbackRequest) {
    const { state = "", bindings } = request;
    const cookieHashes = bindings.map((value) => hashToken(value));
    const key = { hash: hashToken(state), connectionUuid: connection.uuid, cookieHashes, at: dateOf(clock) };
    const found = await context.transaction((tx) => useState(tx, key));
    if (found === undefined) throw oidcErrors.invalidState();
    if (request.iss === undefined ? found.sendsIssuer : request.iss !== found.issuer) throw oidcErrors.invalidState();
    return found;
  }

  function exchange(connection: Connection, state: StoredState, request: CallbackRequest): Promise<Identity> {
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

  async function complete(
    context: RequestContext,
    connection: Connection,
    request: CallbackRequest,
  ): Promise<Redirect> {
    const state = await takeState(context, connection, request);
    const { subject, sid, claims } = await exchange(connection, state, request);
    const email = admittedEmail(claims, connection.allowedDomains);
    if (email === undefined) throw oidcErrors.domainMismatch();
    const { token, hash } = newOpaqueToken(random);
    await context.transaction((tx) =>
      insertSessionToken(tx, {
        hash,
        connectionUuid: connection.uuid,
        subject,
        sid,
        email: email.address,
        firstName: nameOf(claims["given_name"]),
        lastName: nameOf(claims["family_name"]),
        cookieHash: state.cookieHash,
        codeChallenge: state.codeChallenge,
        at: dateOf(clock),
        expiresAt: dateOf(clock, config.sessionTokenMs),
      }),
    );
    return { location: withQuery(state.redirectUri, { session_token: token, state: state.clientState }) };
  }

  /**
   * Completes the conversation with the provider: where to send the browser, with a session token.
   * @throws {invalid_connection} when there is no such connection
   * @throws {invalid_state} when state, cookie or `iss` are not those of a sign-in under way
   * @throws {provider_error} when the provider reports an error
   * @throws {missing_code} when there is no code
   * @throws {token_exchange_failed} when the code is refused or the ID token does not verify
   * @throws {provider_error} when the provider cannot be reached, or a document of it cannot be used
   * @throws {domain_mismatch} when there is no verified address of an admitted domain
   */
  return async function callback(context: RequestContext, request: CallbackRequest): Promise<Redirect> {
    const connection = await findConnection(database, request.connectionUuid);
    if (connection === undefined) throw oidcErrors.invalidConnection();
    try {
      return await complete(context, connection, request);
    } catch (error) {
      if (error instanceof ServiceError && error.status !== 503) {
        await events.recordFailure(EVENTS["login.oidc"], {
          by: withoutActor(null, context.info),
          orgUuid: connection.orgUuid,
          metadata: { code: error.code, connection_uuid: connection.uuid },
        });
      }
      throw error;
    }
  };
}

function nameOf(claim: unknown): string {
  return typeof claim === "string"
    ? claim
        .replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, "")
        .trim()
        .slice(0, MAX_NAME)
    : "";
}
