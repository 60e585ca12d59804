import { createHmac, sign } from "node:crypto";
import { CompactSign, createLocalJWKSet, importJWK, jwtVerify, SignJWT } from "jose";
import { beforeAll, describe, expect, test } from "vitest";
import { generateSigningKey, importPrivateKey, importPublicKey } from "../../src/platform/crypto/jwk.ts";
import type { NewKeyPair } from "../../src/platform/crypto/jwk.ts";
import { signJwt, verifyJwt } from "../../src/platform/crypto/jwt.ts";

const issuer = "https://atrium.test";
const now = 1_800_000_000_000;
const expected = { typ: "at+jwt", issuer, now };
const claims = { iss: issuer, sub: "u", org: "o", jti: "j", iat: now / 1000, exp: now / 1000 + 60, roles: ["admin"] };

let ed: NewKeyPair;
let rsa: NewKeyPair;
let other: NewKeyPair;
beforeAll(async () => {
  [ed, rsa, other] = await Promise.all([
    generateSigningKey("ed25519"),
    generateSigningKey("rsa4096"),
    generateSigningKey("ed25519"),
  ]);
});

const resolve = (kid: string): NewKeyPair | undefined => [ed, rsa].find((key) => key.kid === kid);
const check = (token: string, over: Partial<typeof expected> = {}) =>
  verifyJwt(token, resolve, { ...expected, ...over });
const part = (value: unknown): string =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

/** A token with any header and body and a valid signature of the Ed25519 key. */
function forge(header: unknown, body: unknown = claims): string {
  const input = `${part(header)}.${part(body)}`;
  return `${input}.${sign(null, Buffer.from(input), ed.privateKey).toString("base64url")}`;
}
const header = (over: object = {}) => ({ alg: "EdDSA", typ: "at+jwt", kid: ed.kid, ...over });

describe("Agreement with jose", () => {
  test.each(["ed25519", "rsa4096"] as const)(
    "%s: jose verifies our tokens and we verify tokens of jose",
    async (algorithm) => {
      const key = algorithm === "ed25519" ? ed : rsa;
      const keys = createLocalJWKSet({ keys: [ed.publicJwk, rsa.publicJwk] });
      const ours = await signJwt(key, "at+jwt", claims);
      const read = await jwtVerify(ours, keys, {
        issuer,
        typ: "at+jwt",
        currentDate: new Date(now),
        algorithms: [key.publicJwk.alg],
      });
      expect(read.payload).toEqual(claims);
      const theirs = await new SignJWT(claims)
        .setProtectedHeader({ alg: key.publicJwk.alg, typ: "at+jwt", kid: key.kid })
        .sign(key.privateKey);
      expect(await check(theirs)).toEqual(claims);
      expect(await check(ours)).toEqual(claims);
    },
  );

  test("a stored key signs and verifies after it is read back", async () => {
    for (const key of [ed, rsa]) {
      const privateKey = importPrivateKey(key.algorithm, key.privateDer);
      for (const stored of [key.publicPem, key.publicJwk]) {
        expect(importPublicKey(key.algorithm, stored).equals(key.publicKey)).toBe(true);
      }
      expect(
        await check(await signJwt({ kid: key.kid, algorithm: key.algorithm, privateKey }, "at+jwt", claims)),
      ).toEqual(claims);
      expect(await importJWK(key.publicJwk)).toBeDefined();
    }
    expect(() => importPrivateKey("rsa4096", ed.privateDer)).toThrow();
    expect(() => importPublicKey("ed25519", rsa.publicPem)).toThrow();
  });

  test("the kid is the thumbprint of the example key of RFC 8037", async () => {
    const jwk = {
      kty: "OKP",
      crv: "Ed25519",
      x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
      kid: "",
      use: "sig",
      alg: "EdDSA",
    } as const;
    const { thumbprint } = await import("../../src/platform/crypto/jwk.ts");
    expect(await thumbprint(importPublicKey("ed25519", jwk))).toBe("kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    expect(ed.kid).toMatch(/^[A-Za-z0-9_-]{43}$/);
  });
});

describe("Refused tokens", () => {
  test("the forge of these tests makes valid tokens when nothing is changed", async () =>
    expect(await check(forge(header()))).toEqual(claims));

  test.each<[string, object]>([
    ["alg none", { alg: "none" }],
    ["alg HS256", { alg: "HS256" }],
    ["alg RS256 on an Ed25519 key", { alg: "RS256" }],
    ["alg in another case", { alg: "eddsa" }],
    ["typ JWT", { typ: "JWT" }],
    ["typ of another kind", { typ: "atrium-signed+jwt" }],
    ["typ in another case", { typ: "AT+JWT" }],
    ["typ missing", { typ: undefined }],
    ["kid unknown", { kid: "nobody" }],
    ["kid missing", { kid: undefined }],
    ["kid a number", { kid: 1 }],
    ["kid an array", { kid: ["a"] }],
    ["crit", { crit: ["exp"] }],
    ["jku", { jku: "https://evil.test/jwks" }],
    ["jwk", { jwk: { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" } }],
    ["x5c", { x5c: ["AAAA"] }],
    ["x5u", { x5u: "https://evil.test" }],
    ["b64", { b64: false }],
    ["cty", { cty: "JWT" }],
    ["zip", { zip: "DEF" }],
  ])("a token is refused for its header: %s", async (_, over) =>
    expect(await check(forge(header(over)))).toBeUndefined(),
  );

  test.each<[string, object]>([
    ["another issuer", { iss: "https://other.test" }],
    ["issuer with a slash more", { iss: `${issuer}/` }],
    ["no issuer", { iss: undefined }],
    ["no exp", { exp: undefined }],
    ["exp as text", { exp: String(claims.exp) }],
    ["exp now", { exp: now / 1000 }],
    ["exp past", { exp: now / 1000 - 1 }],
    ["exp null", { exp: null }],
    ["no jti", { jti: undefined }],
    ["empty jti", { jti: "" }],
    ["jti a number", { jti: 7 }],
    ["nbf ahead", { nbf: now / 1000 + 1 }],
    ["nbf as text", { nbf: "0" }],
  ])("a token is refused for its claims: %s", async (_, over) =>
    expect(await check(forge(header(), { ...claims, ...over }))).toBeUndefined(),
  );

  test("a token in another than the canonical encoding is refused", async () => {
    const good = await signJwt(ed, "at+jwt", claims);
    const [head = "", body = "", tail = ""] = good.split(".");
    const last = tail.at(-1) ?? "";
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const loose = alphabet[alphabet.indexOf(last) ^ 1] ?? "";
    const bad = [
      "",
      ".",
      "..",
      "...",
      good.slice(0, -1),
      `${good}=`,
      `${good}==`,
      `${good}.`,
      `.${good}`,
      ` ${good}`,
      `${good} `,
      `${good}\n`,
      `${head}.${body}`,
      `${head}.${body}.`,
      `.${body}.${tail}`,
      `${head}..${tail}`,
      `${head}.${body}.${tail}.${tail}`,
      `${head}.${body}.${tail.slice(0, -1)}${loose}`,
      `${head}.${body}.${tail.replaceAll("-", "+").replaceAll("_", "/")}=`,
      `${head}=.${body}.${tail}`,
      `${body}.${head}.${tail}`,
      good.toUpperCase(),
      "\u0000".repeat(100),
      "é.é.é",
    ];
    for (const token of bad) expect(await check(token), token).toBeUndefined();
  });

  test("a signature of another length, of zeros or with a scalar out of range is refused", async () => {
    const input = `${part(header())}.${part(claims)}`;
    const right = sign(null, Buffer.from(input), ed.privateKey);
    const signed = (bytes: Buffer) => check(`${input}.${bytes.toString("base64url")}`);
    expect(await signed(right)).toBeDefined();
    for (const length of [1, 32, 63, 65, 512])
      expect(await signed(Buffer.concat([right, right], length))).toBeUndefined();
    expect(await signed(Buffer.alloc(64))).toBeUndefined();
    expect(await signed(Buffer.concat([right.subarray(0, 32), Buffer.alloc(32, 0xff)]))).toBeUndefined();
    for (let bit = 0; bit < 512; bit += 31) {
      const changed = Buffer.from(right);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(await signed(changed), String(bit)).toBeUndefined();
    }
  });

  test("a body that is no JSON object or no UTF-8 is refused", async () => {
    for (const body of ["", "null", "[]", "1", '"x"', "{", "{}x"])
      expect(await check(forge(header(), body)), body).toBeUndefined();
    const input = `${part(header())}.${Buffer.from([0x7b, 0xff, 0x7d]).toString("base64url")}`;
    expect(
      await check(`${input}.${sign(null, Buffer.from(input), ed.privateKey).toString("base64url")}`),
    ).toBeUndefined();
  });

  test("another key under our kid, a public key as HMAC secret and a changed body are refused", async () => {
    expect(await check(await signJwt({ ...other, kid: ed.kid }, "at+jwt", claims))).toBeUndefined();
    const input = `${part({ alg: "HS256", typ: "at+jwt", kid: rsa.kid })}.${part(claims)}`;
    for (const secret of [rsa.publicPem, rsa.publicPem.trim()]) {
      expect(await check(`${input}.${createHmac("sha256", secret).update(input).digest("base64url")}`)).toBeUndefined();
    }
    const [head = "", , tail = ""] = (await signJwt(ed, "at+jwt", claims)).split(".");
    expect(await check(`${head}.${part({ ...claims, roles: ["owner"] })}.${tail}`)).toBeUndefined();
    const detached = await new CompactSign(Buffer.from(JSON.stringify(claims)))
      .setProtectedHeader({ alg: "RS256", kid: ed.kid, typ: "at+jwt" })
      .sign(rsa.privateKey);
    expect(await check(detached)).toBeUndefined();
  });

  test("a token of more than 8 KiB is refused", async () => {
    expect(await check(await signJwt(ed, "at+jwt", { ...claims, pad: "x".repeat(5_000) }))).toBeDefined();
    expect(await check(await signJwt(ed, "at+jwt", { ...claims, pad: "x".repeat(8_000) }))).toBeUndefined();
  });

  test("the resolver receives the unverified claims, may be asynchronous, and may fail", async () => {
    const token = await signJwt(ed, "at+jwt", claims);
    const byOrg = await verifyJwt(
      token,
      async (kid, unverified) => (unverified["org"] === "o" && kid === ed.kid ? ed : undefined),
      expected,
    );
    expect(byOrg?.jti).toBe("j");
    await expect(verifyJwt(token, () => Promise.reject(new Error("away")), expected)).rejects.toThrow("away");
    expect(await verifyJwt(token, () => other, expected)).toBeUndefined();
  });
});
