import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { runWorkloadAgent } from "../../src/cli/workload-agent/index.ts";
import { connectServer } from "../../src/cli/workload-agent/server.ts";
import { createTrustReader } from "../../src/cli/workload-agent/trust.ts";
import { makeIdentity } from "../outgoing/identity.ts";
import { issue, workloads } from "../spiffe/support.ts";
import type { Workloads } from "../spiffe/support.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";

const folder = mkdtempSync(join(tmpdir(), "atrium-trust-"));
const at = (name: string): string => join(folder, name);

let app: TestApp;
let owner: Workloads;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "on" } });
  owner = await workloads(app);
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await app.close();
});

/** The service as the agent calls it with an SVID, and the documents that it read. */
async function calledWithSvid() {
  const { body: svid } = await issue(app, owner);
  const credential = { cert: svid.certificate_pem as string, key: svid.private_key_pem as string };
  const { address = "", certificate = "" } = app.mutualTls ?? {};
  const server = connectServer(address, certificate, credential, new AbortController().signal);
  const read: [path: string, bytes: number | "unchanged"][] = [];
  const document: typeof server.document = async (path, etag) => {
    const found = await server.document(path, etag);
    read.push([path.replace(/^.*\//u, ""), found === undefined ? "unchanged" : found.data.length]);
    return found;
  };
  return { server: { ...server, document }, read };
}

it("a revocation list and keys that have not changed are not sent again", async () => {
  const { server, read } = await calledWithSvid();
  const reader = createTrustReader();
  const look = async () => expect(await reader.read(server, owner.org)).toEqual([]);
  await look();
  const before = reader.last(owner.org);
  expect(read.map(([path]) => path).toSorted()).toEqual(["ca.crl?issuer=spiffe", "spiffe-bundle"]);
  for (let n = 0; n < 60; n++) await look();
  expect(new Set(read.slice(2).map(([path, bytes]) => `${path} ${bytes}`))).toEqual(
    new Set(["ca.crl?issuer=spiffe unchanged", "spiffe-bundle unchanged"]),
  );
  expect(reader.last(owner.org)).toEqual(before);
  const revoked = (await issue(app, owner)).body.svid_id as string;
  await app.call("DELETE", `/api/auth/spiffe/svids/${revoked}`, { token: owner.token });
  for (let n = 0; n < 6; n++) await look();
  expect(Buffer.compare(reader.last(owner.org)?.crl ?? Buffer.of(), before?.crl ?? Buffer.of())).not.toBe(0);
  server.close();
});

it("the agent says that --ca-file does not verify the service", async () => {
  const other = await makeIdentity("localhost");
  writeFileSync(at("ca.pem"), other.cert);
  writeFileSync(at("token"), "never-sent");
  const lines: string[] = [];
  const say = (line: string): void => void lines.push(line);
  const stop = new AbortController();
  const done = runWorkloadAgent(
    { server: app.mutualTls?.address ?? "", caFile: at("ca.pem"), socket: at("a.sock"), tokenFile: at("token") },
    { say, complain: say, input: process.stdin, folders: [folder] },
    stop.signal,
    { pollMs: 50 },
  );
  await vi.waitFor(() => expect(lines[1]).toBeDefined(), 120_000);
  stop.abort();
  await done;
  expect(lines[1]).toBe("The service cannot be asked: the file of --ca-file does not verify its certificate");
});
