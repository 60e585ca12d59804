import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { target } from "../mtls/client.ts";
import { issue as issueSvid, workloads } from "../spiffe/support.ts";
import type { Workloads } from "../spiffe/support.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { openWorkbench } from "../support/openssl.ts";
import type { Workbench } from "../support/openssl.ts";
import { authorityOf } from "./support.ts";

/** Folder of the programs of `judges/requirements.txt`; `.ci/run` sets it where there is Python. */
const pkilint = process.env["CERTIFICATE_JUDGES"];
const hasGnuTls = spawnSync("certtool", ["--version"]).status === 0;
if (!hasGnuTls) console.log("certtool judges no certificates: install gnutls-bin");
if (pkilint === undefined) console.log("pkilint judges no certificates: CERTIFICATE_JUDGES is not set");

/** Issuers by the name of their files: `<name>.pem` and `<name>.crl`. */
const ISSUERS = ["ecdsa-p256", "rsa4096", "spiffe"] as const;
/** Leaves that are on no list, by issuer: `<issuer>-<name>.pem`. */
const FROM_CSR = {
  "rsa-2048": ["-newkey", "rsa:2048"],
  "p-256": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
  "p-384": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"],
  ed25519: ["-newkey", "ed25519"],
} as const;
const OF_AUTHORITY = ["generated", "wildcard", "no-sans", ...Object.keys(FROM_CSR)];
const LEAVES = [
  ...ISSUERS.slice(0, 2).flatMap((issuer) => OF_AUTHORITY.map((leaf) => [issuer, leaf] as const)),
  ["spiffe", "own-id"] as const,
  ["spiffe", "other-id"] as const,
];

/**
 * What pkilint reports of certificates as they must be (docs/tour-trust.md, Judged by others): its syntax of names has
 * neither wildcards nor names of one label, and its list of URI schemes has no `spiffe`.
 */
const EXPECTED_FINDINGS: Readonly<Record<string, string>> = {
  listener: 'pkix.invalid_domain_name_syntax (ERROR): Invalid domain name syntax: "localhost"',
  "ecdsa-p256-wildcard": 'pkix.invalid_domain_name_syntax (ERROR): Invalid domain name syntax: "*.b.example"',
  "rsa4096-wildcard": 'pkix.invalid_domain_name_syntax (ERROR): Invalid domain name syntax: "*.b.example"',
  spiffe: 'pkix.invalid_uri_syntax (ERROR): Invalid URI syntax: "spiffe://',
  "spiffe-own-id": 'pkix.invalid_uri_syntax (ERROR): Invalid URI syntax: "spiffe://',
  "spiffe-other-id": 'pkix.invalid_uri_syntax (ERROR): Invalid URI syntax: "spiffe://',
};

let app: TestApp;
let owner: Workloads;
let bench: Workbench;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  bench = await openWorkbench();
  owner = await workloads(app);
  for (const algorithm of ["ecdsa-p256", "rsa4096"]) await writeAuthority(algorithm);
  await writeRoot();
  await bench.write("listener.pem", target(app).ca);
});
afterAll(async () => {
  await bench.close();
  await app.close();
});

const published = async (query: string): Promise<string> =>
  (await app.call("GET", `/orgs/${owner.org}/.well-known/ca.crl?format=pem${query}`)).text;

/** Files of an authority of the organization: leaves, one of them revoked, and lists before and after its deletion. */
async function writeAuthority(name: string): Promise<void> {
  const ca = authorityOf(app, owner);
  const { body } = await ca.create({ key_algorithm: name, common_name: "Müller & Söhne" });
  await bench.write(`${name}.pem`, body.certificate);
  const write = async (leaf: string, request: object): Promise<string> => {
    const issued = await ca.issue(request);
    await bench.write(`${name}-${leaf}.pem`, issued.body.certificate);
    return issued.body.cert_uuid as string;
  };
  await write("generated", { sans: ["a.example", "192.0.2.7", "2001:db8::7"], validity_days: 825 });
  await write("wildcard", { sans: ["a.example", "*.b.example"] });
  await write("no-sans", { common_name: "Ünïcode ✓" });
  for (const [leaf, newkey] of Object.entries(FROM_CSR)) {
    await bench.openssl("req", "-new", "-nodes", "-keyout", "key.pem", "-out", "csr.pem", "-subj", "/CN=x", ...newkey);
    await write(leaf, { csr: await bench.read("csr.pem"), sans: ["a.example"] });
  }
  await ca.revoke(await write("revoked", {}));
  await bench.write(`${name}.crl`, await published(""));
  await ca.remove();
  await bench.write(`${name}-final.crl`, await published(""));
}

/** The same of the SPIFFE root. */
async function writeRoot(): Promise<void> {
  await bench.write("spiffe.pem", (await app.call("GET", `/orgs/${owner.org}/.well-known/ca.pem`)).text);
  const write = async (leaf: string, request: Record<string, unknown>): Promise<string> => {
    const { body } = await issueSvid(app, owner, request);
    await bench.write(`spiffe-${leaf}.pem`, body.certificate_pem as string);
    return body.svid_id as string;
  };
  await write("own-id", {});
  await write("other-id", { san_uris: [`${owner.domain}/ns/prod/sa/api`], ttl_hours: 24 });
  const revoked = await write("revoked", {});
  await app.call("DELETE", `/api/auth/spiffe/svids/${revoked}`, { token: owner.elevated });
  await bench.write("spiffe.crl", await published("&issuer=spiffe"));
}

describe("OpenSSL", () => {
  const verify = (issuer: string, leaf: string) => {
    const options = ["-x509_strict", "-purpose", "sslclient", "-crl_check"];
    const files = ["-CAfile", `${issuer}.pem`, "-CRLfile", `${issuer}.crl`, `${issuer}-${leaf}.pem`];
    return bench.openssl("verify", ...options, ...files);
  };

  test.each(LEAVES)("openssl verifies the leaf of %s named %s with the published list", async (issuer, leaf) => {
    expect(await verify(issuer, leaf)).toEqual({ ok: true, output: `${issuer}-${leaf}.pem: OK\n` });
  });

  test.each(ISSUERS)("openssl refuses the revoked leaf of %s", async (issuer) => {
    const { ok, output } = await verify(issuer, "revoked");
    expect(output).toContain("certificate revoked");
    expect(ok).toBe(false);
  });
});

describe.skipIf(!hasGnuTls)("GnuTLS", () => {
  const verify = (issuer: string, leaf: string) => {
    const files = ["--load-ca-certificate", `${issuer}.pem`, "--load-crl", `${issuer}.crl`, "--infile"];
    return bench.run("certtool", "--verify", "--verify-profile", "medium", ...files, `${issuer}-${leaf}.pem`);
  };

  test.each(LEAVES)("certtool verifies the leaf of %s named %s with the published list", async (issuer, leaf) => {
    const { ok, output } = await verify(issuer, leaf);
    expect(output).toContain("Chain verification output: Verified. The certificate is trusted.");
    expect(output).toContain("Checked against CRL");
    expect(ok).toBe(true);
  });

  test.each(ISSUERS)("certtool refuses the revoked leaf of %s", async (issuer) => {
    const { ok, output } = await verify(issuer, "revoked");
    expect(output).toContain("The certificate chain is revoked.");
    expect(ok).toBe(false);
  });

  test.each(ISSUERS)("certtool verifies the revocation list of %s", async (issuer) => {
    const list = ["--verify-crl", "--load-ca-certificate", `${issuer}.pem`, "--infile", `${issuer}.crl`];
    const { ok, output } = await bench.run("certtool", ...list);
    expect(output).toContain("Verification output: Verified.");
    expect(ok).toBe(true);
  });
});

describe.skipIf(pkilint === undefined)("pkilint", () => {
  /** Findings of a linter, one a line. */
  async function findings(program: string, ...args: string[]): Promise<string[]> {
    const { ok, output } = await bench.run(join(pkilint ?? "", program), "lint", "-s", "NOTICE", ...args);
    const found = output.split("\n").filter((line) => /^ {4}\S/u.test(line));
    // The exit status is the number of findings, so that output of another form does not pass for none.
    expect(ok, output).toBe(found.length === 0);
    return found.map((line) => line.trim());
  }
  const expected = (name: string): unknown[] => {
    const finding = EXPECTED_FINDINGS[name];
    return finding === undefined ? [] : [expect.stringContaining(finding)];
  };

  test.each([...ISSUERS, "listener"])(
    "pkilint finds nothing beyond the documented findings in the certificate of %s",
    async (name) => {
      expect(await findings("lint_pkix_cert", `${name}.pem`)).toEqual(expected(name));
    },
  );

  test.each(LEAVES)(
    "pkilint finds nothing beyond the documented findings in the leaf of %s named %s",
    async (issuer, leaf) => {
      const name = `${issuer}-${leaf}`;
      expect(await findings("lint_pkix_cert", `${name}.pem`)).toEqual(expected(name));
      const chain = await findings("lint_pkix_signer_signee_cert_chain", `${issuer}.pem`, `${name}.pem`);
      expect(chain).toEqual([]);
    },
  );

  test.each([...ISSUERS, "ecdsa-p256-final", "rsa4096-final"])(
    "pkilint finds nothing beyond the documented findings in the revocation list of %s",
    async (name) => {
      expect(await findings("lint_crl", "-t", "CRL", "-p", "PKIX", `${name}.crl`)).toEqual([]);
    },
  );
});
