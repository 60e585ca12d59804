/**
 * An identity provider that costs as little as it can: discovery, keys, and a token endpoint that checks the client and
 * the PKCE verifier and signs an ID token with RS256. Its codes carry what they stand for ({@link codeOf}), so that it
 * keeps no state and nobody has to sign in at it.
 */
import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { CLIENT, readCode } from "../openid.ts";
import { serve } from "./serve.ts";

const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const keys = { keys: [{ ...publicKey.export({ format: "jwk" }), kid: "bench", use: "sig", alg: "RS256" }] };
const header = encoded({ alg: "RS256", kid: "bench" });
const credentials = `${CLIENT.id}:${CLIENT.secret}`;

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/** Id and secret of HTTP Basic, each form-encoded (RFC 6749 §2.3.1). */
function credentialsOf({ headers: { authorization = "" } }: IncomingMessage): string {
  return decodeURIComponent(Buffer.from(authorization.slice("Basic ".length), "base64").toString("utf8"));
}

function documentOf(issuer: string): object {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
    response_types_supported: ["code"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["RS256"],
    token_endpoint_auth_methods_supported: ["client_secret_basic"],
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
  };
}

/** The response of the token endpoint; undefined when client, code or verifier are wrong. */
function tokensOf(issuer: string, request: IncomingMessage, form: URLSearchParams): object | undefined {
  const { nonce, challenge, subject } = readCode(form.get("code") ?? "");
  const verified = createHash("sha256")
    .update(form.get("code_verifier") ?? "")
    .digest("base64url");
  if (credentialsOf(request) !== credentials || verified !== challenge) return undefined;
  const now = Math.floor(Date.now() / 1000);
  const claims = encoded({
    iss: issuer,
    aud: CLIENT.id,
    sub: subject,
    nonce,
    iat: now,
    exp: now + 300,
    email: `${subject}@corp.test`,
    email_verified: true,
    given_name: "Given",
    family_name: "Family",
  });
  const signature = sign("sha256", Buffer.from(`${header}.${claims}`), privateKey).toString("base64url");
  return {
    access_token: subject,
    token_type: "Bearer",
    expires_in: 300,
    id_token: `${header}.${claims}.${signature}`,
  };
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const issuer = `http://${request.headers.host ?? ""}`;
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += String(chunk);
  const body =
    request.url === "/token"
      ? tokensOf(issuer, request, new URLSearchParams(text))
      : request.url === "/keys"
        ? keys
        : documentOf(issuer);
  const sent = JSON.stringify(body ?? { error: "invalid_grant" });
  response.writeHead(body === undefined ? 400 : 200, {
    "content-type": "application/json",
    "cache-control": "max-age=3600",
    "content-length": Buffer.byteLength(sent),
  });
  response.end(sent);
}

serve(createServer((request, response) => void answer(request, response)));
