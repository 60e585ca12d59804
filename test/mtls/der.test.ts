import { randomUUID, X509Certificate } from "node:crypto";
import { expect, test } from "vitest";
import { DerError } from "../../src/platform/x509/der.ts";
import { readEndEntity } from "../../src/platform/x509/end-entity.ts";
import { foreignRoot, issue } from "../support/certificates.ts";
import { mutate } from "../support/mutations.ts";
import { randomOf } from "../support/random-of.ts";

const now = Date.now();
const uri = `spiffe://${randomUUID()}.atrium.local/svc/${randomUUID()}`;

test("a certificate is read as node reads it", async () => {
  const root = await foreignRoot(now);
  const leaf = await issue(now, root, { uris: [uri], serial: "0a00ff" });
  const fields = readEndEntity(leaf.der);
  const certificate = new X509Certificate(leaf.cert);
  expect(fields).toMatchObject({
    serial: "0a00ff",
    uris: [uri],
    notBeforeMs: certificate.validFromDate.getTime(),
    notAfterMs: certificate.validToDate.getTime(),
    isAuthority: false,
    signs: true,
    authenticatesClients: true,
    unknownCritical: [],
  });
  const issuer = readEndEntity(Buffer.from(root.certificate.rawData));
  expect(fields.issuer.equals(issuer.issuer)).toBe(true);
  expect(issuer.isAuthority).toBe(true);
});

test("of 5,000 mutated certificates each is read or refused as malformed, and nothing else happens", async () => {
  const { der } = await issue(now, await foreignRoot(now), { uris: [uri] });
  const { below: next } = randomOf(12_345);
  let refused = 0;
  for (let n = 0; n < 5_000; n++) {
    try {
      readEndEntity(mutate(der, next));
    } catch (reason) {
      expect(reason).toBeInstanceOf(DerError);
      refused++;
    }
  }
  expect(refused).toBeGreaterThan(1_000);
  expect(refused).toBeLessThan(5_000);
});

test("a megabyte of garbage is refused", () => {
  for (const byte of [0x00, 0x30, 0xff]) expect(() => readEndEntity(Buffer.alloc(1024 * 1024, byte))).toThrow(DerError);
});
