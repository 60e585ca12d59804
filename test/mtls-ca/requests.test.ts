import { afterAll, beforeAll, expect, test } from "vitest";
import { X509Certificate } from "node:crypto";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, outcome } from "../support/people.ts";
import { mutate } from "../support/mutations.ts";
import { randomOf } from "../support/random-of.ts";
import { openWorkbench } from "../support/openssl.ts";
import type { Workbench } from "../support/openssl.ts";
import { authorityOf, fieldsOf } from "./support.ts";

let app: TestApp;
let bench: Workbench;
let ca: ReturnType<typeof authorityOf>;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  bench = await openWorkbench();
  ca = authorityOf(app, await founder(app));
  await ca.create();
});
afterAll(async () => {
  await bench.close();
  await app.close();
});

/** A request that openssl makes. */
async function request(newkey: readonly string[], ...more: string[]): Promise<string> {
  const made = await bench.openssl(
    ...["req", "-new", "-nodes", "-keyout", "key.pem", "-out", "csr.pem", "-subj", "/CN=from the request"],
    ...newkey,
    ...more,
  );
  if (!made.ok) throw new Error(made.output);
  return bench.read("csr.pem");
}

const ec = (curve: string): string[] => ["-newkey", "ec", "-pkeyopt", `ec_paramgen_curve:${curve}`];

test("a request gives its key and nothing else", async () => {
  const extensions = ["subjectAltName=DNS:evil.example,URI:spiffe://evil", "basicConstraints=critical,CA:TRUE"];
  for (const [newkey, type] of [
    [["-newkey", "rsa:2048"], "rsa"],
    [["-newkey", "rsa:4096"], "rsa"],
    [ec("P-256"), "ec"],
    [ec("P-384"), "ec"],
    [["-newkey", "ed25519"], "ed25519"],
  ] as const) {
    const csr = await request(newkey, ...extensions.flatMap((extension) => ["-addext", extension]));
    const { status, body } = await ca.issue({ csr, common_name: "ours", sans: ["ours.example"] });
    expect(status, newkey.join(" ")).toBe(201);
    expect(body).not.toHaveProperty("private_key");
    const certificate = new X509Certificate(body.certificate);
    expect(certificate).toMatchObject({ subject: "CN=ours", subjectAltName: "DNS:ours.example", ca: false });
    expect(certificate.publicKey.asymmetricKeyType).toBe(type);
    await bench.write("leaf.pem", body.certificate);
    const own = await bench.openssl("x509", "-in", "leaf.pem", "-noout", "-pubkey");
    expect(own.output).toBe((await bench.openssl("req", "-in", "csr.pem", "-noout", "-pubkey")).output);
  }
});

test("text around a request is ignored", async () => {
  const csr = await request(ec("P-256"), "-text");
  expect(outcome(await ca.issue({ csr: `Subject: x\r\n${csr.replaceAll("\n", "\r\n")}\r\n` }))).toBe("201");
});

test("a request that is refused returns 400 for its field", async () => {
  const good = await request(ec("P-256"));
  const [begin = "", ...lines] = good.trimEnd().split("\n");
  const end = lines.pop() ?? "";
  const der = Buffer.from(lines.join(""), "base64");
  const pem = (bytes: Buffer): string => `${begin}\n${bytes.toString("base64")}\n${end}\n`;
  const flipped = (at: number): Buffer => {
    const copy = Buffer.from(der);
    copy[at] = (copy[at] ?? 0) ^ 1;
    return copy;
  };
  const refused: Record<string, string> = {
    "broken signature": pem(flipped(der.length - 1)),
    "changed subject": pem(flipped(20)),
    "RSA 1024": await request(["-newkey", "rsa:1024"]),
    "RSA 2047": await request(["-newkey", "rsa:2047"]),
    "P-521": await request(ec("P-521")),
    secp256k1: await request(ec("secp256k1")),
    Ed448: await request(["-newkey", "ed448"]),
    DSA: begin,
    MD5: await request(["-newkey", "rsa:2048"], "-md5"),
    "SHA-1": await request(["-newkey", "rsa:2048"], "-sha1"),
    "two requests": good + good,
    "trailing bytes": pem(Buffer.concat([der, Buffer.of(0)])),
    truncated: pem(der.subarray(0, -3)),
    "no base64": `${begin}\n!!!!\n${end}\n`,
    "no request": "hello",
    empty: "",
    "a certificate": (await ca.issue()).body.certificate,
    garbage: pem(Buffer.alloc(9_000, 0x30)),
    "1 MB of garbage": "A".repeat(1_000_000),
  };
  for (const [name, csr] of Object.entries(refused)) expect(fieldsOf(await ca.issue({ csr })), name).toEqual(["csr"]);
  expect(outcome(await ca.issue({ csr: good }))).toBe("201");
});

test("a request is refused before the authority is looked up", async () => {
  const without = authorityOf(app, await founder(app));
  expect(fieldsOf(await without.issue({ csr: "nonsense" }))).toEqual(["csr"]);
  expect(outcome(await without.issue({ csr: await request(ec("P-256")) }))).toBe("404 not_found");
  expect(outcome(await without.issue())).toBe("404 not_found");
});

test("of 5,000 mutated requests each returns 201 or 400 for its field, and most are refused", async () => {
  const kinds = [["-newkey", "rsa:2048"], ec("P-256"), ec("P-384"), ["-newkey", "ed25519"]];
  const originals: Buffer[] = [];
  for (const newkey of kinds) {
    const csr = await request(newkey, "-addext", "subjectAltName=DNS:a.example");
    originals.push(Buffer.from(csr.replaceAll(/-----[^-]+-----|\s/gu, ""), "base64"));
  }
  const { below: next } = randomOf(4_711);
  const seen = { "201": 0, csr: 0 };
  const send = async (): Promise<void> => {
    const original = originals[next(originals.length)] ?? Buffer.alloc(0);
    const mutated = next(100) === 0 ? original : mutate(original, next);
    const name = next(50) === 0 ? "NEW CERTIFICATE REQUEST" : "CERTIFICATE REQUEST";
    const csr = `-----BEGIN ${name}-----\n${mutated.toString("base64")}\n-----END ${name}-----\n`;
    const fields = fieldsOf(await ca.issue({ csr }));
    const outcome = Array.isArray(fields) ? fields.join(" ") : String(fields);
    // A mutation may undo itself, or change what a request has no use for and its signature does not cover.
    expect(outcome === "csr" || outcome === "201", `${outcome} for ${mutated.toString("hex")}`).toBe(true);
    seen[outcome as keyof typeof seen]++;
  };
  for (let sent = 0; sent < 5_000; sent += 50) await Promise.all(Array.from({ length: 50 }, send));
  expect(seen.csr).toBeGreaterThan(4_500);
  expect(seen["201"]).toBeGreaterThan(20);
});

test("subject alternative names are DNS names and addresses", async () => {
  const label = "a".repeat(63);
  const good = ["a.example", "*.a.example", "xn--bcher-kva.example", "A.Example", "localhost", `${label}.example`];
  for (const san of [...good, "192.0.2.1", "::1", "2001:db8::1", "::ffff:192.0.2.1"]) {
    const answer = await ca.issue({ sans: [san] });
    expect([outcome(answer), answer.body.sans], san).toEqual(["201", [san]]);
  }
  const bad = [
    ...["a.*.example", "a*.example", "*a.example", "*", "*.", "**.example", "*.*.example", "a.example.", ".a.example"],
    ...["a..example", "-a.example", "a-.example", "a_b.example", "bücher.example", "a b.example", `${label}a.example`],
    ...["https://a.example", "spiffe://a/b", "a@b.example", "a.example:443", "192.0.2.0/24", "256.1.1.1", "1.2.3"],
    ...["fe80::1%eth0", "[::1]", "0x7f.1", "a.example/path", "a\u0000.example", "\n"],
    // Letters that a comparison without case takes for k and s.
    ...["\u212a.example", "a\u017f.example"],
  ];
  for (const san of bad)
    expect(outcome(await ca.issue({ sans: ["ok.example", san] })), san).toMatch(
      /^400 (?:validation_error|bad_request)$/u,
    );
  expect(fieldsOf(await ca.issue({ sans: ["ok.example", "*"] }))).toEqual(["sans[1]"]);
  expect((await ca.issue({ sans: Array.from({ length: 100 }, (_, n) => `h${n}.example`) })).status).toBe(201);
  expect(fieldsOf(await ca.issue({ sans: Array.from({ length: 101 }, (_, n) => `h${n}.example`) }))).toEqual(["sans"]);
});

test("an IPv6 address that ends as an IPv4 address is certified as that address", async () => {
  for (const [san, address] of [
    ["::ffff:192.0.2.1", "0:0:0:0:0:FFFF:C000:201"],
    ["::192.0.2.1", "0:0:0:0:0:0:C000:201"],
    ["64:ff9b::192.0.2.33", "64:FF9B:0:0:0:0:C000:221"],
    ["1:2:3:4:5:6:192.0.2.1", "1:2:3:4:5:6:C000:201"],
    ["2001:DB8::1", "2001:DB8:0:0:0:0:0:1"],
  ] as const) {
    const answer = await ca.issue({ sans: [san] });
    expect([outcome(answer), answer.body.sans], san).toEqual(["201", [san]]);
    expect(new X509Certificate(answer.body.certificate).subjectAltName, san).toBe(`IP Address:${address}`);
  }
  const twice = await ca.issue({ sans: ["::ffff:192.0.2.1", "::FFFF:c000:201"] });
  expect(new X509Certificate(twice.body.certificate).subjectAltName).toBe("IP Address:0:0:0:0:0:FFFF:C000:201");
});

test("metadata has at most 20 pairs", async () => {
  const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, "v"]));
  expect((await ca.issue({ metadata: pairs(20) })).body.metadata).toEqual(pairs(20));
  expect(fieldsOf(await ca.issue({ metadata: pairs(21) }))).toEqual(["metadata"]);
  expect(outcome(await ca.issue({ metadata: { a: 1 } }))).toMatch(/^400/u);
  expect(fieldsOf(await ca.issue({ metadata: { "": "x" } }))).toEqual(["metadata"]);
});
