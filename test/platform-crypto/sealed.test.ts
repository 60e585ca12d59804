import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { constantTimeEqual, hashToken, newOpaqueToken } from "../../src/platform/crypto/opaque.ts";
import { createSealer } from "../../src/platform/crypto/sealed.ts";
import { systemRandom } from "../../src/platform/random.ts";

const sealer = createSealer(randomBytes(32));

test("a sealed value opens to what was sealed: text, bytes and empty values", () => {
  for (const plain of ["", "secret", "Größe 🔑", "x".repeat(70_000)]) {
    expect(sealer.open(sealer.seal(plain, "row:1"), "row:1").toString("utf8")).toBe(plain);
  }
  const bytes = randomBytes(64);
  expect(sealer.open(sealer.seal(bytes, ""), "")).toEqual(bytes);
});

test("the same text has another sealed value each time", () => {
  const boxes = new Set(Array.from({ length: 100 }, () => sealer.seal("secret", "c").toString("hex")));
  expect(boxes.size).toBe(100);
});

test("a sealed value with a flipped bit, a cut, a wrong context or a wrong key is refused", () => {
  const box = sealer.seal("secret", "totp:1");
  for (let bit = 0; bit < box.length * 8; bit++) {
    const bent = Buffer.from(box);
    bent[bit >> 3] = (bent[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    expect(() => sealer.open(bent, "totp:1")).toThrow();
  }
  for (let length = 0; length < box.length; length++)
    expect(() => sealer.open(box.subarray(0, length), "totp:1")).toThrow();
  expect(() => sealer.open(box, "totp:2")).toThrow();
  expect(() => createSealer(randomBytes(32)).open(box, "totp:1")).toThrow();
});

test("a key that is not 32 bytes is refused, and later changes of its buffer have no effect", () => {
  expect(() => createSealer(randomBytes(31))).toThrow(RangeError);
  const key = randomBytes(32);
  const own = createSealer(key);
  const box = own.seal("x", "c");
  key.fill(0);
  expect(own.open(box, "c").toString()).toBe("x");
});

test("opaque tokens are long, base64url and stored as their SHA-256", () => {
  const { token, hash } = newOpaqueToken(systemRandom);
  expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(hash).toEqual(hashToken(token));
  expect(hash).toHaveLength(32);
  expect(newOpaqueToken(systemRandom, 16).token).toHaveLength(22);
});

test("constantTimeEqual compares bytes and text", () => {
  expect(constantTimeEqual("abc", Buffer.from("abc"))).toBe(true);
  expect(constantTimeEqual("abc", "abd")).toBe(false);
  expect(constantTimeEqual("abc", "abcd")).toBe(false);
  expect(constantTimeEqual("", "")).toBe(true);
});
