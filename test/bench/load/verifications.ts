/**
 * Verifies access tokens in this process: asked `{seconds}`, reports how many a second. BY says what verifies:
 * `createVerifier` with one token that it has seen (`seen`) or with tokens that it has not (`new`), or `jwtVerify` of
 * jose with a local key (`jose`).
 */
import { randomUUID } from "node:crypto";
import { exportJWK, generateKeyPair, jwtVerify, SignJWT } from "jose";
import { createVerifier } from "../../../src/clients/typescript/verify/index.ts";
import type { Verifier } from "../../../src/clients/typescript/verify/index.ts";

const by = process.env["BY"];
const issuer = "https://atrium.bench";
const org = randomUUID();
/** More than twice what a verifier remembers, so that it has forgotten each when its turn comes again. */
const COUNT = by === "seen" ? 1 : 25_000;
const { publicKey, privateKey } = await generateKeyPair("EdDSA");
const jwks = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: "key", alg: "EdDSA", use: "sig" }] });
const tokens: string[] = [];
for (let nth = 0; nth < COUNT; nth++)
  tokens.push(
    await new SignJWT({ org, org_name: "Bench", roles: ["admin"], entitlements: ["marketplace"], app_admin: [] })
      .setProtectedHeader({ alg: "EdDSA", typ: "at+jwt", kid: "key" })
      .setIssuer(issuer)
      .setAudience("Bench")
      .setSubject(randomUUID())
      .setJti(randomUUID())
      .setIssuedAt()
      .setExpirationTime("1h")
      .sign(privateKey),
  );

const newVerifier = (): Verifier =>
  createVerifier({
    issuer,
    fetch: () =>
      Promise.resolve(
        new Response(jwks, { headers: { "content-type": "application/json", "cache-control": "max-age=300" } }),
      ),
  });
const verifier = newVerifier();
const verify: (token: string) => Promise<unknown> =
  by === "jose"
    ? (token) => jwtVerify(token, publicKey, { algorithms: ["EdDSA"], issuer, audience: "Bench", typ: "at+jwt" })
    : (token) => verifier.verify(token);

let next = 0;

async function run(seconds: number): Promise<void> {
  const started = performance.now();
  let completed = 0;
  for (; performance.now() - started < seconds * 1_000; completed++)
    await verify(tokens[next++ % tokens.length] as string);
  process.send?.({ result: { value: completed / ((performance.now() - started) / 1_000) } });
}

process.on("disconnect", () => process.exit(0));
process.on("message", ({ seconds }: { seconds: number }) => void run(seconds));
process.send?.({ ready: {} });
