import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { SpiffeWorkloadAPI } from "../../gen/spiffe/workload/workload_pb.ts";
import { runWorkloadAgent } from "../../src/cli/workload-agent/index.ts";
import { X509CertificateGenerator } from "../../src/platform/x509/library.ts";
import { opened } from "../mtls/client.ts";
import { workloads } from "../spiffe/support.ts";
import type { Workloads } from "../spiffe/support.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { rootOf } from "../support/certificates.ts";
import { runSql } from "../support/postgres.ts";

const folder = mkdtempSync(join(tmpdir(), "atrium-roots-"));
const at = (name: string): string => join(folder, name);

let app: TestApp;
let owner: Workloads;
let end = async (): Promise<unknown> => undefined;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "on" } });
  owner = await workloads(app);
  const { body } = await app.call("POST", `/api/organizations/${owner.org}/service-identities/automation-token`, {
    token: owner.elevated,
    body: { name: randomUUID(), identity_id: owner.identityId },
  });
  writeFileSync(at("ca.pem"), app.mutualTls?.certificate ?? "");
  writeFileSync(at("token"), body.token as string);
  const server = app.mutualTls?.address ?? "";
  const stop = new AbortController();
  const lines: string[] = [];
  const say = (line: string): void => void lines.push(line);
  const done = runWorkloadAgent(
    { server, caFile: at("ca.pem"), socket: at("agent.sock"), tokenFile: at("token") },
    { say, complain: say, input: process.stdin, folders: [folder] },
    stop.signal,
    { now: app.clock.now, pollMs: 50 },
  );
  end = () => {
    stop.abort();
    return done;
  };
  await vi.waitFor(() => expect(lines.join("\n")).toContain("is valid until"), 120_000);
});
afterAll(async () => {
  await end();
  rmSync(folder, { recursive: true });
  await app.close();
});

/** Replaces the organization's root by a new certificate of its key, and the key of JWT-SVIDs by another one. */
async function replaceRoot(keyId: string): Promise<Buffer> {
  const { certificate, key } = await rootOf(opened(app), owner.org);
  const renewed = await X509CertificateGenerator.createSelfSigned({
    serialNumber: "7b",
    name: certificate.subject,
    notBefore: certificate.notBefore,
    notAfter: certificate.notAfter,
    keys: { privateKey: key, publicKey: await certificate.publicKey.export() },
    extensions: certificate.extensions,
    signingAlgorithm: { name: "ECDSA", hash: "SHA-256" },
  });
  const der = Buffer.from(renewed.rawData);
  await runSql(
    app.databaseUrl,
    `update spiffe_roots set certificate = $2, sequence = sequence + 1, jwt_key_id = $3,
       jwt_public_jwk = (select jwt_public_jwk from spiffe_roots where org_uuid <> $1 limit 1)
     where org_uuid = $1`,
    [owner.org, der, keyId],
  );
  return der;
}

it("open streams of X.509-SVIDs and of both kinds of bundles receive a new root and a new key", async () => {
  const transport = createGrpcTransport({
    baseUrl: "http://localhost",
    nodeOptions: { createConnection: () => connect(at("agent.sock")) },
  });
  const client = createClient(SpiffeWorkloadAPI, transport);
  const ended = new AbortController();
  onTestFinished(() => ended.abort());
  const options = { headers: { "workload.spiffe.io": "true" }, signal: ended.signal };
  const svids = client.fetchX509SVID({}, options)[Symbol.asyncIterator]();
  const roots = client.fetchX509Bundles({}, options)[Symbol.asyncIterator]();
  const keys = client.fetchJWTBundles({}, options)[Symbol.asyncIterator]();
  const before = await Promise.all([svids.next(), roots.next(), keys.next()]);
  expect(before.map(({ done }) => done)).toEqual([false, false, false]);

  const keyId = randomUUID();
  const root = await replaceRoot(keyId);
  const [svid, bundles, jwtBundles] = await Promise.all([svids.next(), roots.next(), keys.next()]);
  expect(Buffer.from(svid.value?.svids[0]?.bundle ?? [])).toEqual(root);
  expect(Buffer.from(bundles.value?.bundles[owner.domain] ?? [])).toEqual(root);
  const set = JSON.parse(Buffer.from(jwtBundles.value?.bundles[owner.domain] ?? []).toString()) as {
    keys: { kid: string }[];
  };
  expect(set.keys.map(({ kid }) => kid)).toEqual([keyId]);
});
