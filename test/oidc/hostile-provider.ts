import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import type { CryptoKey, JWK, JWTPayload } from "jose";

/** A key of a provider. */
export interface ProviderKey {
  kid: string;
  alg: string;
  privateKey: CryptoKey | Uint8Array;
  jwk: JWK;
}

/** Who signs in at the provider. */
export interface Subject {
  sub: string;
  email?: unknown;
  email_verified?: unknown;
  [claim: string]: unknown;
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** An identity provider that tells the truth unless a test makes it lie. */
export interface HostileProvider {
  issuer: string;
  discoveryUrl: string;
  /** Whom the next authorization signs in. */
  subject: Subject;
  /** Keys that the key set shows, and the one that signs. */
  keys: ProviderKey[];
  signer: ProviderKey;
  /** Changes the claims of ID tokens; an undefined value leaves the claim out. */
  claims: (claims: JWTPayload) => Record<string, unknown>;
  /** Further members of the header of ID tokens. */
  header: Record<string, unknown>;
  /** Changes the discovery document. */
  discovery: Record<string, unknown>;
  /** Further headers of the discovery document and of the key set. */
  headers: Record<string, string>;
  /** Whether codes need the verifier that their challenge was made of (RFC 7636 §4.6). */
  checksVerifier: boolean;
  /** Answers a path in place of the provider. */
  answers: Map<string, Answer>;
  /** Requests by path. */
  requests: Map<string, number>;
  /** The service's clock. */
  now: () => number;
  /** The authorization endpoint: the code, and the parameters that it was requested with. */
  authorize(url: string): { code: string; params: URLSearchParams };
  close(): Promise<void>;
}

/** A new key. */
export async function providerKey(alg = "RS256", kid = randomBytes(6).toString("hex")): Promise<ProviderKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } };
}

/** Starts the provider on loopback. */
export async function startHostileProvider(now: () => number): Promise<HostileProvider> {
  const codes = new Map<string, { params: URLSearchParams; subject: Subject }>();
  const key = await providerKey();
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider: HostileProvider = {
    issuer,
    discoveryUrl: `${issuer}/.well-known/openid-configuration`,
    subject: { sub: "nobody" },
    keys: [key],
    signer: key,
    claims: (claims) => claims,
    header: {},
    discovery: {},
    headers: {},
    checksVerifier: true,
    answers: new Map(),
    requests: new Map(),
    now,
    authorize(url) {
      const params = new URL(url).searchParams;
      const code = randomBytes(16).toString("hex");
      codes.set(code, { params, subject: provider.subject });
      return { code, params };
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  function json(response: ServerResponse, body: unknown, status = 200, headers: Record<string, string> = {}): void {
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  }

  /** Whether a token request has the verifier of the challenge that its code was requested with. */
  function isVerified(form: URLSearchParams, params: URLSearchParams): boolean {
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    return params.get("code_challenge_method") === "S256" && params.get("code_challenge") === challenge;
  }

  async function idToken(params: URLSearchParams, subject: Subject): Promise<string> {
    const iat = Math.floor(provider.now() / 1000);
    const claims = provider.claims({
      iss: issuer,
      aud: params.get("client_id") ?? "",
      nonce: params.get("nonce"),
      iat,
      exp: iat + 300,
      ...subject,
    });
    const { signer } = provider;
    return new SignJWT(claims)
      .setProtectedHeader({ alg: signer.alg, kid: signer.kid, ...provider.header })
      .sign(signer.privateKey);
  }

  async function token(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const form = new URLSearchParams(Buffer.concat(chunks).toString("utf8"));
    const found = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    if (found === undefined || form.get("redirect_uri") !== found.params.get("redirect_uri"))
      return json(response, { error: "invalid_grant" }, 400);
    if (provider.checksVerifier && !isVerified(form, found.params))
      return json(response, { error: "invalid_grant" }, 400);
    json(response, {
      access_token: "an-access-token",
      token_type: "Bearer",
      expires_in: 300,
      id_token: await idToken(found.params, found.subject),
    });
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? "/", issuer).pathname;
    provider.requests.set(path, (provider.requests.get(path) ?? 0) + 1);
    const lie = provider.answers.get(path);
    if (lie !== undefined) return lie(request, response);
    if (path === "/token") return token(request, response);
    if (path === "/jwks") return json(response, { keys: provider.keys.map(({ jwk }) => jwk) }, 200, provider.headers);
    if (path !== "/.well-known/openid-configuration") return json(response, {}, 404);
    const document = {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["RS256", "PS256", "ES256", "EdDSA"],
      code_challenge_methods_supported: ["S256"],
      ...provider.discovery,
    };
    json(response, document, 200, provider.headers);
  }
  return provider;
}
