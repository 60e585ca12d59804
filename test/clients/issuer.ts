import { exportJWK, generateKeyPair, SignJWT } from "jose";
import type { JWK, JWTHeaderParameters, JWTPayload } from "jose";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export const ISSUER = "http://atrium.test";
export const ORG = "7d9f6c0e-5a43-4b6e-9d37-5b8c9c0f1a2b";

const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1_000) + seconds;

/** Tokens that no verifier takes: what they are, and what is wrong in their claims or header. */
export const REFUSED: readonly (readonly [string, JWTPayload, { typ?: string; kid?: string }])[] = [
  ["a foreign issuer", { iss: "http://evil.test" }, {}],
  ["an organization that is a path", { org: "../x" }, {}],
  ["an organization in upper case", { org: ORG.toUpperCase() }, {}],
  ["no organization", { org: "" }, {}],
  ["another type", {}, { typ: "JWT" }],
  ["an expired token", { iat: 1_000, exp: 1_300 }, {}],
  ["a token from the future", { iat: inSeconds(3_600), exp: inSeconds(7_200) }, {}],
  ["an unknown key", {}, { kid: "k2" }],
];

const newKeyPair = () => generateKeyPair("EdDSA", { crv: "Ed25519", extractable: true });

/** An issuer of our own: signs tokens with the key `k1`, and says what a server has to publish for it. */
export async function makeIssuer() {
  const { publicKey, privateKey } = await newKeyPair();
  const jwk = { ...(await exportJWK(publicKey)), kid: "k1", alg: "EdDSA" };
  const sign = (claims: JWTPayload = {}, header: Omit<JWTHeaderParameters, "alg"> = {}) =>
    new SignJWT({ iss: ISSUER, sub: ORG, org: ORG, aud: "Acme", jti: "1", ...claims })
      .setProtectedHeader({ alg: "EdDSA", typ: "at+jwt", kid: "k1", ...header })
      .setIssuedAt(claims.iat)
      .setExpirationTime(claims.exp ?? "5m")
      .sign(privateKey);
  const publish = { body: JSON.stringify({ keys: [jwk] }), status: 200, headers: {}, slow: false };
  return { sign, publish, wrongKeys: () => wrongKeys(jwk, sign) };
}

/** A key set that describes every key wrongly except `jwk`, and a token of each wrong key that has a name. */
async function wrongKeys(
  jwk: JWK,
  sign: (claims: JWTPayload, header: { kid: string }) => Promise<string>,
): Promise<{ body: string; tokens: string[] }> {
  const other = await exportJWK((await newKeyPair()).publicKey);
  const shared = Buffer.from(JSON.stringify(jwk)).toString("base64url");
  const keys = [
    { ...other, kid: "other", alg: "EdDSA" },
    { ...jwk, kid: "es256", alg: "ES256" },
    { ...jwk, kid: "none", alg: "none" },
    { ...jwk, kid: "nameless", alg: undefined },
    { kty: "oct", k: shared, kid: "oct", alg: "HS256" },
    { ...jwk, kid: "short", x: "AAAA" },
    { ...jwk, kid: 7 },
    null,
    "key",
    jwk,
  ];
  const symmetric = new SignJWT({ iss: ISSUER, sub: ORG, org: ORG, jti: "1" })
    .setProtectedHeader({ alg: "HS256", typ: "at+jwt", kid: "oct" })
    .setIssuedAt()
    .setExpirationTime("5m")
    .sign(Buffer.from(shared, "base64url"));
  const kids = ["other", "es256", "none", "nameless", "oct", "short"];
  const tokens = await Promise.all([symmetric, ...kids.map((kid) => sign({}, { kid }))]);
  return { body: JSON.stringify({ keys }), tokens };
}

/** Starts a server on loopback; returns its address too. */
export async function listen(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<[string, Server]> {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return [`http://127.0.0.1:${(server.address() as AddressInfo).port}`, server];
}
