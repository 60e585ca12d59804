import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { elevate } from "../support/elevate.ts";
import { founder, password } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

let app: TestApp;
let folder: string;
beforeAll(async () => {
  app = await startApp();
  folder = mkdtempSync(join(tmpdir(), "atrium-spiffe-"));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await app.close();
});

const wellKnown = (org: string, name: string) => app.call("GET", `/orgs/${org}/.well-known/${name}`);
const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

describe("the SPIFFE root of an organization", () => {
  test("a new organization has a root of its own as soon as sign-up has responded", async () => {
    const [one, other] = [await founder(app), await founder(app)];
    const answers = await Promise.all([one, other].map(({ org }) => wellKnown(org, "ca.pem")));
    for (const [at, { org }] of [one, other].entries()) {
      const answer = answers[at]!;
      expect(answer.status).toBe(200);
      expect(answer.headers.get("content-type")).toBe("application/x-pem-file");
      const root = new X509Certificate(answer.text);
      expect(root.ca).toBe(true);
      expect(root.verify(root.publicKey)).toBe(true);
      expect(root.subjectAltName).toBe(`URI:spiffe://${org}.atrium.local`);
      expect(root.publicKey.asymmetricKeyDetails).toMatchObject({ namedCurve: "prime256v1" });
      expect(root.validToDate.getUTCFullYear() - root.validFromDate.getUTCFullYear()).toBe(10);
    }
    expect(answers[0]!.text).not.toBe(answers[1]!.text);
  });

  test("openssl accepts the root as a trust anchor that signs certificates and lists", async () => {
    const { org } = await founder(app);
    const path = file("root.pem", (await wellKnown(org, "ca.pem")).text);
    const openssl = (...args: string[]) => execFileSync("openssl", args, { encoding: "utf8" });
    expect(openssl("verify", "-x509_strict", "-check_ss_sig", "-CAfile", path, path)).toContain("OK");
    const text = openssl("x509", "-in", path, "-noout", "-text");
    expect(text).toMatch(/Basic Constraints: critical\s+CA:TRUE, pathlen:0/u);
    expect(text).toMatch(/Key Usage: critical\s+Certificate Sign, CRL Sign\n/u);
  });

  test("an unknown organization and one that has ended have no root and no bundle", async () => {
    const ended = await founder(app);
    const token = await elevate(app, ended.token, password);
    expect((await app.call("DELETE", `/api/organizations/${ended.org}`, { token })).status).toBe(204);
    for (const org of [ended.org, "3e0cbf0b-7a6e-4b92-9c33-0d9b1c6c7f4e"])
      for (const name of ["ca.pem", "spiffe-bundle"])
        expect(await wellKnown(org, name)).toMatchObject({ status: 404, body: { code: "not_found" } });
    expect(await wellKnown("no-uuid", "ca.pem")).toMatchObject({ status: 400, body: { code: "invalid_uuid" } });
  });

  test("the private keys are sealed in the database", async () => {
    const { org } = await founder(app);
    const [row] = await runSql<Record<string, Buffer>>(
      app.databaseUrl,
      "select private_key, jwt_private_key from spiffe_roots where org_uuid = $1",
      [org],
    );
    // A PKCS #8 key begins with a SEQUENCE; a sealed one with the version of the box.
    for (const box of Object.values(row!)) expect(box[0]).not.toBe(0x30);
  });
});

describe("an organization older than its root", () => {
  test("an organization without a root gets one when somebody asks, the same for all who ask at once", async () => {
    const { org } = await founder(app);
    await runSql(app.databaseUrl, "delete from spiffe_roots where org_uuid = $1", [org]);
    const answers = await Promise.all(Array.from({ length: 8 }, () => wellKnown(org, "ca.pem")));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  });
});
