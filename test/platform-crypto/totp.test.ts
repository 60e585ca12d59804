import { generateSync } from "otplib";
import { expect, test } from "vitest";
import { generateTotpSecret, matchTotpStep, otpauthUri } from "../../src/platform/crypto/totp.ts";
import { systemRandom } from "../../src/platform/random.ts";

test("secrets have 160 bits in base32 without padding", () => {
  const secrets = new Set(Array.from({ length: 50 }, () => generateTotpSecret(systemRandom)));
  expect(secrets.size).toBe(50);
  for (const secret of secrets) expect(secret).toMatch(/^[A-Z2-7]{32}$/);
});

test("codes match the vectors of RFC 6238, shortened to six digits", () => {
  const secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
  for (const [seconds, code] of [
    [59, "287082"],
    [1111111109, "081804"],
    [1111111111, "050471"],
    [1234567890, "005924"],
    [2000000000, "279037"],
    [20000000000, "353130"],
  ] as const) {
    expect(matchTotpStep(secret, code, seconds * 1000)).toBe(Math.floor(seconds / 30));
  }
});

test("a code one step early or late is accepted with its step, and two steps off is refused", () => {
  const secret = generateTotpSecret(systemRandom);
  const now = 1_800_000_010;
  for (const second of [0, 1, 15, 28, 29].map((into) => Math.floor(now / 30) * 30 + into)) {
    for (const steps of [-2, -1, 0, 1, 2]) {
      const code = generateSync({ secret, epoch: now + steps * 30 });
      expect(matchTotpStep(secret, code, second * 1000)).toBe(
        Math.abs(steps) > 1 ? undefined : Math.floor(now / 30) + steps,
      );
    }
  }
});

test("text other than six digits matches no code and is no error", () => {
  const secret = generateTotpSecret(systemRandom);
  for (const code of ["", "12345", "1234567", "12345a", " 123456", "１２３４５６", "-12345", "1e5000"]) {
    expect(matchTotpStep(secret, code, 1_800_000_000_000)).toBeUndefined();
  }
});

test("apps can parse the URI, whatever the names contain", () => {
  const uri = new URL(
    otpauthUri({
      issuer: "Acme: Größe & Söhne",
      account: "a+b@acme.test",
      secret: "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
      label: "my phone?",
    }),
  );
  expect(uri.protocol + "//" + uri.host).toBe("otpauth://totp");
  expect(decodeURIComponent(uri.pathname)).toBe("/Acme Größe & Söhne:a+b@acme.test (my phone?)");
  expect(uri.searchParams.get("secret")).toBe("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
  expect(uri.searchParams.get("issuer")).toBe("Acme Größe & Söhne");
  const nameless = new URL(
    otpauthUri({ issuer: "::", account: "a@acme.test", secret: "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ" }),
  );
  expect(nameless.searchParams.get("issuer")).toBe("Atrium");
  expect(uri.searchParams.get("digits") ?? "6").toBe("6");
});
