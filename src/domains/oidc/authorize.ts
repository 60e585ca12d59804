import { dateOf } from "../../platform/clock.ts";
import type { RequestContext } from "../../platform/context.ts";
import { newOpaqueToken } from "../../platform/crypto/opaque.ts";
import { findConnection } from "./connection-store.ts";
import type { OidcDeps } from "./deps.ts";
import { ProviderFault } from "./discovery.ts";
import { oidcErrors } from "./errors.ts";
import { insertState } from "./flow-store.ts";
import type { Providers, Secrets } from "./provider.ts";
import { bindingCookie, readRedirectUri } from "./rules.ts";

/** A sign-in to start. */
export interface AuthorizeRequest {
  connectionUuid: string;
  redirectUri?: string | undefined;
  /** The client's own state. */
  state?: string | undefined;
  /** The client's own PKCE challenge, S256. */
  codeChallenge?: string | undefined;
}

/** Where to send the browser, with a cookie. */
export interface Redirect {
  location: string;
  cookie?: string;
}

/** The service's callback of a connection, to be registered with the provider. */
export function callbackUri(baseUrl: string, connectionUuid: string): string {
  return `${baseUrl}/api/auth/oidc/${connectionUuid}/callback`;
}

/** What the secrets of a sign-in are sealed for. */
export const stateContext = (hash: Buffer): string => `oidc-state:${hash.toString("hex")}`;

/** The start of sign-ins (decisions 8.2). */
export function createAuthorize(deps: OidcDeps, providers: Providers) {
  const { database, clock, random, sealer, config } = deps;

  /**
   * Starts a sign-in: the provider's URL, and the cookie that binds the sign-in to this browser.
   * @throws {invalid_connection} when there is no such connection
   * @throws {validation_error} when the redirect URI is not registered
   * @throws {provider_error} when the discovery document cannot be fetched or used
   */
  return async function authorize(context: RequestContext, request: AuthorizeRequest): Promise<Redirect> {
    const connection = await findConnection(database, request.connectionUuid);
    if (connection === undefined) throw oidcErrors.invalidConnection();
    const redirectUri = readRedirectUri(request.redirectUri, connection, config.baseUrl);
    const { token: state, hash } = newOpaqueToken(random);
    const cookie = newOpaqueToken(random);
    const secrets: Secrets = {
      nonce: random.bytes(32).toString("base64url"),
      codeVerifier: random.bytes(32).toString("base64url"),
    };
    const { url, document } = await providers
      .authorization(connection, callbackUri(config.baseUrl, connection.uuid), { state, ...secrets })
      .catch((cause: unknown) => {
        throw cause instanceof ProviderFault ? oidcErrors.providerError({ cause }) : cause;
      });
    const isStored = await context.transaction((tx) =>
      insertState(tx, {
        hash,
        connectionUuid: connection.uuid,
        cookieHash: cookie.hash,
        secrets: sealer.seal(JSON.stringify(secrets), stateContext(hash)),
        redirectUri,
        clientState: request.state ?? null,
        codeChallenge: request.codeChallenge ?? null,
        issuer: document.issuer,
        sendsIssuer: document.authorization_response_iss_parameter_supported === true,
        at: dateOf(clock),
        expiresAt: dateOf(clock, config.stateMs),
      }),
    );
    // Deleted while the provider was asked.
    if (!isStored) throw oidcErrors.invalidConnection();
    const maxAgeMs = config.stateMs + config.sessionTokenMs;
    const binding = { hash: cookie.hash, value: cookie.token, maxAgeMs };
    return { location: url, cookie: bindingCookie(binding, config.baseUrl) };
  };
}
