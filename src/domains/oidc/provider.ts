import { createHash } from "node:crypto";
import * as client from "openid-client";
import { constantTimeEqual } from "../../platform/crypto/opaque.ts";
import { createConfigurations, headerOf } from "./configurations.ts";
import type { Grant, ProviderDeps } from "./configurations.ts";
import type { Connection } from "./connection-store.ts";
import { ProviderFault } from "./discovery.ts";
import type { ProviderDocument } from "./discovery.ts";
import { createDocuments } from "./documents.ts";

/** What a sign-in keeps between `authorize` and the callback. */
export interface Secrets {
  nonce: string;
  codeVerifier: string;
}

/** A code to exchange, and what it was requested with. */
export interface CodeExchange extends Secrets {
  code: string;
  state: string;
  iss: string | undefined;
  /** The service's callback of this connection. */
  redirectUri: string;
}

/** Who the provider says signed in. */
export interface Identity {
  subject: string;
  /** Session at the provider, for back-channel logout; null where it names none, or one that cannot be stored. */
  sid: string | null;
  claims: Claims;
}

type Claims = Readonly<Record<string, unknown>>;

const TOLERANCE_S = 300;
const MAX_IDENTIFIER = 255;
/** Statuses without an `error` that leave open whether the token endpoint is one. */
const ANSWERS: ReadonlySet<number> = new Set([200, 400, 401, 429]);

/**
 * The conversation with identity providers: openid-client does the protocol, and every request of it goes through the
 * guarded client.
 */
export function createProviders({ outgoing, clock, sealer }: ProviderDeps) {
  const documents = createDocuments({ outgoing, clock });
  const { authorizing, exchanging, exchangingOnce } = createConfigurations({ outgoing, clock, sealer, documents });

  return {
    documents,

    /** Where to send the browser, and the document it was read from. @throws ProviderFault */
    async authorization(
      connection: Connection,
      redirectUri: string,
      { state, nonce, codeVerifier }: Secrets & { state: string },
    ): Promise<{ url: string; document: ProviderDocument }> {
      const document = await documents.discovery(connection);
      const url = client.buildAuthorizationUrl(authorizing(connection, document), {
        redirect_uri: redirectUri,
        response_type: "code",
        scope: "openid email profile",
        state,
        nonce,
        code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: "S256",
      });
      return { url: url.href, document };
    },

    /**
     * What the token endpoint answers to a code that cannot be right: the `error` of its response (RFC 6749 §5.2), or
     * undefined where the response has none.
     * @throws ProviderFault when it cannot be reached, fails, or is no token endpoint
     */
    async refusalOfToken(
      connection: Connection,
      document: ProviderDocument,
      redirectUri: string,
    ): Promise<string | undefined> {
      const grant: Grant = { faults: [] };
      const url = new URL(redirectUri);
      url.searchParams.set("code", "atrium-connection-test");
      // As a provider that announces it would send it (RFC 9207); the library asks for it before it sends anything.
      url.searchParams.set("iss", document.issuer);
      try {
        const checks = { pkceCodeVerifier: "atrium-connection-test-atrium-connection-test", idTokenExpected: true };
        await exchangingOnce(connection, document, grant, (configuration) =>
          client.authorizationCodeGrant(configuration, url, checks),
        );
      } catch (error) {
        if (grant.faults.length > 0) throw faultOf(grant.faults, error);
        if (error instanceof client.ResponseBodyError) return error.error;
        const { status } = grant.tokens ?? {};
        if (status !== undefined && !ANSWERS.has(status)) throw new ProviderFault("token", `answered ${status}`);
      }
      return undefined;
    },

    /**
     * Exchanges a code, and verifies the ID token.
     * @throws ProviderFault when the provider could not be reached or a document of it cannot be used
     * @throws Error when the provider refuses the code, or its response does not verify
     */
    async exchange(connection: Connection, request: CodeExchange): Promise<Identity> {
      const document = await documents.discovery(connection);
      const url = new URL(request.redirectUri);
      url.searchParams.set("code", request.code);
      url.searchParams.set("state", request.state);
      if (request.iss !== undefined) url.searchParams.set("iss", request.iss);
      const grant: Grant = { faults: [] };
      try {
        return await exchanging(connection, document, grant, async (configuration) => {
          const tokens = await client.authorizationCodeGrant(configuration, url, {
            expectedNonce: request.nonce,
            expectedState: request.state,
            pkceCodeVerifier: request.codeVerifier,
            idTokenExpected: true,
          });
          const claims = tokens.claims();
          if (claims === undefined || tokens.id_token === undefined) throw new Error("there is no ID token");
          demandCurrent(claims, clock.now());
          // The library compares it only beside several audiences.
          if (claims.azp !== undefined && claims.azp !== connection.clientId)
            throw new Error("the ID token was issued to another client");
          demandAccessTokenHash(tokens.id_token, claims, tokens.access_token);
          const { sub: subject, sid } = claims;
          if (!isIdentifier(subject)) throw new Error("the subject is empty, too long or no text");
          const ask = () => client.fetchUserInfo(configuration, tokens.access_token, subject);
          const all = saysOfAddress(claims, document)
            ? await withNames(claims, document, ask)
            : await withUserInfo(claims, ask, grant);
          return { subject, sid: isIdentifier(sid) ? sid : null, claims: all };
        });
      } catch (error) {
        throw faultOf(grant.faults, error);
      }
    },
  };
}

/** The conversation with identity providers. */
export type Providers = ReturnType<typeof createProviders>;

/** Whether a claim can be stored and found again: PostgreSQL takes no NUL, and UTF-8 makes lone surrogates the same. */
function isIdentifier(claim: unknown): claim is string {
  if (typeof claim !== "string" || claim === "" || claim.length > MAX_IDENTIFIER) return false;
  return claim.isWellFormed() && !claim.includes("\0");
}

/** Why an exchange failed: the first fault of a request, else what the library threw. */
function faultOf([fault]: readonly unknown[], error: unknown): unknown {
  if (fault === undefined || fault instanceof ProviderFault) return fault ?? error;
  return new ProviderFault("token", "could not be reached", { cause: fault });
}

/** Whether an ID token says all that its provider does of an address: the address, and whether it is verified. */
function saysOfAddress(claims: Claims, { userinfo_endpoint }: ProviderDocument): boolean {
  return userinfo_endpoint === undefined || (claims["email"] !== undefined && claims["email_verified"] !== undefined);
}

/**
 * The claims of an ID token, with those of the userinfo endpoint. Okta's ID tokens name an address, and its userinfo
 * alone says whether it is verified; it says so of the address that it names itself.
 */
async function withUserInfo(claims: Claims, ask: () => Promise<Claims>, { faults }: Grant): Promise<Claims> {
  const isNamed = claims["email"] !== undefined;
  try {
    const more = await ask();
    const address = isNamed && { email: more["email"], email_verified: more["email_verified"] };
    return { ...more, ...claims, ...address };
  } catch (error) {
    // A refusal leaves the address of the ID token, which nobody has verified.
    if (!isNamed || faults.length > 0) throw error;
    return claims;
  }
}

/**
 * The claims of an ID token with a verified address, with names of the userinfo endpoint where it has none: GitLab's
 * have none. A sign-in does not fail for want of a name.
 */
async function withNames(
  claims: Claims,
  { userinfo_endpoint }: ProviderDocument,
  ask: () => Promise<Claims>,
): Promise<Claims> {
  const isNamed = ["given_name", "family_name", "name"].some((claim) => claims[claim] !== undefined);
  if (isNamed || userinfo_endpoint === undefined || claims["email_verified"] !== true) return claims;
  const more = await ask().catch((): Claims => ({}));
  const { given_name, family_name, name } = more as Record<string, unknown>;
  return { ...claims, given_name, family_name, name };
}

/** An ID token of this exchange was issued now, by the provider's clock. */
function demandCurrent({ iat }: { iat: number }, now: number): void {
  if (Math.abs(iat - now / 1000) > TOLERANCE_S) throw new Error("the ID token was not issued now");
}

/** Compares `at_hash`, where it is present, with the access token (OpenID Connect Core 1.0 §3.1.3.6). */
function demandAccessTokenHash(idToken: string, claims: Claims, accessToken: string): void {
  if (claims["at_hash"] === undefined) return;
  const bits = /(\d{3})$/u.exec(String(headerOf(idToken)["alg"]))?.[1];
  const digest = createHash(bits === "256" || bits === "384" ? `sha${bits}` : "sha512")
    .update(accessToken, "ascii")
    .digest();
  const expected = digest.subarray(0, digest.length / 2).toString("base64url");
  if (typeof claims["at_hash"] !== "string" || !constantTimeEqual(claims["at_hash"], expected))
    throw new Error("at_hash does not belong to the access token");
}
