import { X509Certificate } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
// Node 24 leaves `node:tls` half loaded, for every file of the worker, where `toLegacyObject` is the first to need it.
import "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemRandom } from "../../src/platform/random.ts";
import { createRoot, openAuthority } from "../../src/platform/x509/authority.ts";
import type { Authority, NewRoot } from "../../src/platform/x509/authority.ts";
import { generateLeafKeys } from "../../src/platform/x509/keys.ts";
import type { AuthorityAlgorithm } from "../../src/platform/x509/keys.ts";
import { issueLeaf } from "../../src/platform/x509/leaf.ts";
import type { LeafRequest } from "../../src/platform/x509/leaf.ts";
import { commonNameOnly } from "../../src/platform/x509/names.ts";
import { toPem } from "../../src/platform/x509/pem.ts";
import { encodedEntriesOf, signRevocationList } from "../../src/platform/x509/revocation-list.ts";
import { newSerial } from "../../src/platform/x509/serial.ts";
import { openWorkbench } from "../support/openssl.ts";
import type { Workbench } from "../support/openssl.ts";

const DAY_MS = 86_400_000;
const NOW = Math.floor(Date.now() / 1_000) * 1_000;

let bench: Workbench;
beforeAll(async () => {
  bench = await openWorkbench();
});
afterAll(() => bench.close());

async function newAuthority(algorithm: AuthorityAlgorithm, name = "Judged CA"): Promise<[Authority, NewRoot]> {
  const root = await createRoot(systemRandom, {
    name: commonNameOnly(name),
    notBefore: new Date(NOW),
    notAfter: new Date(NOW + 30 * DAY_MS),
    algorithm,
  });
  return [await openAuthority(root.certificate, root.privateKey, algorithm), root];
}

function leafOf(changes: Partial<LeafRequest> & Pick<LeafRequest, "publicKey">): LeafRequest {
  return {
    serial: newSerial(systemRandom),
    subject: commonNameOnly("client"),
    names: [{ type: "dns", value: "client.example" }],
    notBefore: new Date(NOW),
    notAfter: new Date(NOW + DAY_MS),
    usages: ["client"],
    crlUrl: "http://localhost:8080/crl",
    ...changes,
  };
}

describe.each(["ecdsa-p256", "rsa4096"] as const)("an authority with a key of the kind %s", (algorithm) => {
  test("openssl verifies its leaf with its revocation list, until the leaf is on the list", async () => {
    const [authority, root] = await newAuthority(algorithm);
    const { publicKey } = await generateLeafKeys();
    const request = leafOf({ publicKey });
    await bench.write("ca.pem", toPem(root.certificate, "CERTIFICATE"));
    await bench.write("leaf.pem", toPem(await issueLeaf(authority, request), "CERTIFICATE"));
    const verify = async (entries: Parameters<typeof signRevocationList>[1]["entries"], number: number) => {
      const list = await signRevocationList(authority, {
        number,
        thisUpdate: new Date(NOW),
        nextUpdate: new Date(NOW + DAY_MS),
        entries,
      });
      await bench.write("ca.crl", toPem(list, "X509 CRL"));
      return bench.openssl(
        "verify",
        "-x509_strict",
        "-crl_check",
        "-CAfile",
        "ca.pem",
        "-CRLfile",
        "ca.crl",
        "leaf.pem",
      );
    };
    expect(await verify([], 1)).toEqual({ ok: true, output: "leaf.pem: OK\n" });
    expect((await verify([{ serial: request.serial, revokedAt: new Date(NOW) }], 2)).output).toContain("revoked");
    const other = {
      serial: newSerial(systemRandom),
      revokedAt: new Date(NOW),
      reason: "cessationOfOperation",
    } as const;
    expect((await verify([other], 300)).ok).toBe(true);
    const text = (await bench.openssl("crl", "-in", "ca.crl", "-noout", "-text")).output;
    expect(text).toMatch(/CRL Number: *\n *300\n/u);
    expect(text).toContain(`Serial Number: ${other.serial.toUpperCase()}`);
    expect(text).toContain("Cessation Of Operation");
  });

  test("its certificate may sign certificates that sign none", async () => {
    const [, root] = await newAuthority(algorithm);
    await bench.write("own.pem", toPem(root.certificate, "CERTIFICATE"));
    const { output } = await bench.openssl("x509", "-in", "own.pem", "-noout", "-text");
    expect(output).toContain("CA:TRUE, pathlen:0");
    expect(output).toMatch(/Key Usage: critical\n *Certificate Sign, CRL Sign/u);
    expect(output).toContain(algorithm === "rsa4096" ? "Public-Key: (4096 bit)" : "ASN1 OID: prime256v1");
  });
});

test("a common name is kept as it is, whatever it looks like", async () => {
  for (const name of ["#0403", 'a,b+c=d"e\\f', "Ünïcode ✓", "'quoted'", "CN=other"]) {
    const [, root] = await newAuthority("ecdsa-p256", name);
    const { subject } = new X509Certificate(root.certificate).toLegacyObject() as { subject: { CN: string } };
    expect(subject).toEqual({ CN: name });
  }
});

test("entries of an earlier list are taken over as they are encoded", async () => {
  const [authority] = await newAuthority("ecdsa-p256");
  const entries = Array.from({ length: 5 }, () => ({ serial: newSerial(systemRandom), revokedAt: new Date(NOW) }));
  const shared = { thisUpdate: new Date(NOW), nextUpdate: new Date(NOW + DAY_MS) };
  const whole = await signRevocationList(authority, { ...shared, number: 1, entries });
  const first = await signRevocationList(authority, { ...shared, number: 1, entries: entries.slice(0, 3) });
  const second = await signRevocationList(authority, {
    ...shared,
    number: 2,
    entries: entries.slice(3),
    encodedEntries: encodedEntriesOf(first),
  });
  expect(encodedEntriesOf(second)).toEqual(encodedEntriesOf(whole));
  const empty = await signRevocationList(authority, { ...shared, number: 1, entries: [] });
  expect(encodedEntriesOf(empty)).toHaveLength(0);
});

test("neither an RSA key nor a list of 100,000 entries stops the event loop", async () => {
  const [authority] = await newAuthority("ecdsa-p256");
  const serial = newSerial(systemRandom);
  const entries = Array.from({ length: 100_000 }, () => ({ serial, revokedAt: new Date(NOW) }));
  const list = await turnsDuring(() =>
    signRevocationList(authority, {
      number: 1,
      thisUpdate: new Date(NOW),
      nextUpdate: new Date(NOW + DAY_MS),
      entries,
    }),
  );
  // It is done in 50 pieces.
  expect(list.longest / list.whole).toBeLessThan(0.3);
  const key = await turnsDuring(() =>
    createRoot(systemRandom, {
      name: commonNameOnly("RSA"),
      notBefore: new Date(NOW),
      notAfter: new Date(NOW + DAY_MS),
      algorithm: "rsa4096",
    }),
  );
  expect(key.turns).toBeGreaterThan(10);
});

/**
 * How often other work had its turn while this was done, and the processor time of this thread, µs: of the longest
 * stretch between two turns, and of all of them.
 */
async function turnsDuring(work: () => Promise<unknown>): Promise<{ turns: number; longest: number; whole: number }> {
  const cpu = (): number => process.threadCpuUsage().user;
  const began = cpu();
  let [turns, longest, last, isDone] = [0, 0, began, false];
  const others = async (): Promise<void> => {
    for (; !isDone; turns++) {
      await nextTurn();
      longest = Math.max(longest, cpu() - last);
      last = cpu();
    }
  };
  const turning = others();
  await work();
  isDone = true;
  await turning;
  return { turns, longest, whole: last - began };
}
