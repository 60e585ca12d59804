import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { elevated, founder, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { openWorkbench } from "../support/openssl.ts";
import type { Workbench } from "../support/openssl.ts";
import { authorityOf } from "./support.ts";

const DAY_MS = 86_400_000;

let app: TestApp;
let second: TestApp;
let bench: Workbench;
let owner: Somebody;
let ca: ReturnType<typeof authorityOf>;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock });
  bench = await openWorkbench();
});
beforeEach(async () => {
  owner = await founder(app);
  ca = authorityOf(app, owner);
});
afterAll(async () => {
  await bench.close();
  await second.close();
  await app.close();
});

const listOf = (on: TestApp, query = "?format=pem", headers: Record<string, string> = {}): Promise<Answer> =>
  on.call("GET", `/orgs/${owner.org}/.well-known/ca.crl${query}`, { headers });

/** Number and serials of a list, as openssl reads them. */
async function read({ text }: Answer): Promise<{ number: number; serials: string[]; text: string }> {
  await bench.write("ca.crl", text);
  const { output } = await bench.openssl("crl", "-in", "ca.crl", "-noout", "-text");
  const serials = [...output.matchAll(/Serial Number: ([0-9A-F]+)/gu)].map(([, serial = ""]) => serial.toLowerCase());
  return { number: Number(/CRL Number: *\n *(\d+)/u.exec(output)?.[1]), serials: serials.sort(), text: output };
}

describe.each(["ecdsa-p256", "rsa4096"])("with an authority of the kind %s", (key_algorithm) => {
  test("openssl verifies each certificate with the list until it is revoked", async () => {
    const { body: authority } = await ca.create({ key_algorithm });
    await bench.write("ca.pem", authority.certificate);
    const request = await bench.openssl(
      ...["req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", "k.pem", "-out", "r.pem", "-subj", "/CN=ignored"],
    );
    expect(request.ok).toBe(true);
    const { body: own } = await ca.issue({ sans: ["client.example", "192.0.2.1", "2001:db8::1"] });
    const { body: requested } = await ca.issue({ csr: await bench.read("r.pem") });
    for (const { cert_uuid, certificate } of [own, requested]) {
      await bench.write("leaf.pem", certificate);
      const verify = async () => {
        await bench.write("ca.crl", (await listOf(app)).text);
        const options = ["-purpose", "sslclient", "-crl_check", "-CAfile", "ca.pem", "-CRLfile", "ca.crl"];
        return (await bench.openssl("verify", "-x509_strict", ...options, "leaf.pem")).output;
      };
      expect(await verify()).toBe("leaf.pem: OK\n");
      await ca.revoke(cert_uuid);
      expect(await verify()).toContain("certificate revoked");
    }
  });
});

test("a revocation is on the list of every instance on the next request, and the number rises", async () => {
  expect(outcome(await listOf(app))).toBe("404 not_found");
  await ca.create();
  const revoked: string[] = [];
  let last = (await read(await listOf(second))).number;
  for (let n = 0; n < 5; n++) {
    const { body } = await ca.issue();
    await ca.revoke(body.cert_uuid);
    revoked.push(body.serial);
    const [one, other] = await Promise.all([listOf(app), listOf(second)]);
    expect(one.text).toBe(other.text);
    const { number, serials } = await read(one);
    expect(number).toBeGreaterThan(last);
    expect(serials).toEqual([...revoked].sort());
    last = number;
  }
});

test("parallel revocations and reads on two instances miss none and number each list once", async () => {
  await ca.create();
  const certificates = await Promise.all(Array.from({ length: 12 }, () => ca.issue()));
  const lists = new Map<number, string>();
  await Promise.all(
    certificates.map(async ({ body }, n) => {
      await ca.revoke(body.cert_uuid);
      const answer = await listOf(n % 2 === 0 ? app : second);
      const etag = Number(/-(\d+)-pem"$/u.exec(answer.headers.get("etag") ?? "")?.[1]);
      expect(lists.get(etag) ?? answer.text).toBe(answer.text);
      lists.set(etag, answer.text);
    }),
  );
  const { serials } = await read(await listOf(app));
  expect(serials).toEqual(certificates.map(({ body }) => body.serial as string).sort());
});

test("the list is served with an entity tag, as DER or PEM, and renewed half a day before it ends", async () => {
  await ca.create();
  const der = await listOf(app, "");
  expect(der.headers.get("content-type")).toBe("application/pkix-crl");
  const pem = await listOf(app);
  expect(pem.headers.get("content-type")).toBe("application/x-pem-file");
  const etag = pem.headers.get("etag") ?? "";
  expect((await listOf(second, "?format=pem", { "if-none-match": etag })).status).toBe(304);
  expect(der.headers.get("etag")).not.toBe(etag);
  expect(outcome(await listOf(app, "?format=text"))).toBe("400 validation_error");
  const times = async () => {
    const { text, number } = await read(await listOf(second));
    const [from = 0, until = 0] = [...text.matchAll(/Update: (.*)/gu)].map(([, at = ""]) => Date.parse(at));
    return { number, from, until };
  };
  const first = await times();
  expect([first.until - first.from, app.clock.now() - first.from < 1_000]).toEqual([DAY_MS, true]);
  app.clock.advance(DAY_MS / 2 - 2_000);
  expect(await times()).toEqual(first);
  app.clock.advance(4_000);
  const later = await times();
  expect([later.number, later.from > first.from]).toEqual([first.number + 1, true]);
});

test("the final list of a deleted authority has everything it issued, and the next authority counts on", async () => {
  await ca.create();
  const [first, other] = [(await ca.issue()).body, (await ca.issue()).body];
  await ca.revoke(first.cert_uuid);
  const before = await read(await listOf(app));
  await ca.remove();
  const final = await read(await listOf(second));
  expect(final.serials).toEqual([first.serial, other.serial].sort());
  expect(final.text.match(/Cessation Of Operation/gu)).toHaveLength(1);
  await ca.create();
  const next = await read(await listOf(app));
  expect(next.serials).toEqual([]);
  expect(before.number < final.number && final.number < next.number).toBe(true);
});

test("a certificate names the list of its own authority, which a newer authority does not replace", async () => {
  const { body: authority } = await ca.create();
  const { body: leaf } = await ca.issue();
  await ca.remove();
  const { body: newer } = await ca.create();
  await ca.revoke((await ca.issue()).body.cert_uuid);
  await bench.write("old.pem", authority.certificate);
  await bench.write("leaf.pem", leaf.certificate);
  const { output } = await bench.openssl(...["x509", "-in", "leaf.pem", "-noout", "-ext", "crlDistributionPoints"]);
  const [, query = ""] = /\/\.well-known\/ca\.crl(\?\S+)/u.exec(output) ?? [];
  for (const on of [app, second]) {
    await bench.write("old.crl", (await listOf(on, `${query}&format=pem`)).text);
    const options = ["-crl_check", "-CAfile", "old.pem", "-CRLfile", "old.crl"];
    expect((await bench.openssl("verify", ...options, "leaf.pem")).output).toContain("certificate revoked");
  }
  expect((await listOf(app, `?ca_uuid=${newer.ca_uuid}`)).text).toBe((await listOf(app, "")).text);
  const other = authorityOf(app, await founder(app));
  const { body: foreign } = await other.create();
  for (const id of [foreign.ca_uuid, "3e0cbf0b-7a6e-4b92-9c33-0d9b1c6c7f4e"])
    expect(outcome(await listOf(app, `?ca_uuid=${id}`))).toBe("404 not_found");
  expect(outcome(await listOf(app, "?ca_uuid=first"))).toBe("400 validation_error");
});

test("the list of an organization that has ended has everything its authority issued", async () => {
  await ca.create();
  const { body } = await ca.issue();
  const token = await elevated(app, owner.token);
  expect(outcome(await app.call("DELETE", `/api/organizations/${owner.org}`, { token }))).toBe("204");
  expect((await read(await listOf(app))).serials).toEqual([body.serial]);
});
