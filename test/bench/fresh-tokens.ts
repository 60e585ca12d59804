import { randomUUID } from "node:crypto";
import { importPrivateKey } from "../../src/platform/crypto/jwk.ts";
import type { KeyAlgorithm, SigningKey } from "../../src/platform/crypto/jwk.ts";
import { signJwt } from "../../src/platform/crypto/jwt.ts";
import { createSealer } from "../../src/platform/crypto/sealed.ts";
import { runSql } from "../support/postgres.ts";

/** Inputs for signing tokens. */
export interface FreshTokens {
  databaseUrl: string;
  instanceKey: Buffer;
  /** Tokens whose sessions get more of them. */
  tokens: readonly string[];
  count: number;
  /** Sessions of the tokens; by default those of `tokens`. */
  sessions?: readonly SeededSession[];
}

/** A session of the database. */
export interface SeededSession {
  sid: string;
  sub: string;
}

interface KeyRow {
  kid: string;
  algorithm: KeyAlgorithm;
  private_key: Buffer;
}

/**
 * Signs tokens as the service would, each with a `jti` of its own, with the keys it keeps sealed in its database:
 * getting as many by logging in would take hours of argon2.
 */
export async function freshTokens({
  databaseUrl,
  instanceKey,
  tokens,
  count,
  sessions,
}: FreshTokens): Promise<string[]> {
  const sealer = createSealer(instanceKey);
  const rows = await runSql<KeyRow>(databaseUrl, "select kid, algorithm, private_key from signing_keys");
  const keys = new Map<string, SigningKey>();
  for (const { kid, algorithm, private_key: sealed } of rows) {
    const der = sealer.open(sealed, `signing-key:${kid}`);
    keys.set(kid, { kid, algorithm, privateKey: importPrivateKey(algorithm, der) });
  }
  const models = tokens.map((token) => {
    const [head = "", claims = ""] = token.split(".");
    const { kid, typ } = decode(head) as { kid: string; typ: string };
    const key = keys.get(kid);
    if (key === undefined) throw new Error(`no key ${kid} in the database`);
    return { key, typ, claims: decode(claims) };
  });
  const made: string[] = [];
  for (let i = 0; i < count; i++) {
    const { key, typ, claims } = models[i % models.length] as (typeof models)[number];
    made.push(await signJwt(key, typ, { ...claims, ...sessions?.[i], jti: randomUUID() }));
  }
  return made;
}

function decode(part: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(part, "base64url").toString("utf8")) as Record<string, unknown>;
}
