import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, Code, ConnectError } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { connect } from "node:net";
import { decodeJwt } from "jose";
import { afterAll, beforeAll, expect, it, onTestFailed, vi } from "vitest";
import { SpiffeWorkloadAPI } from "../../gen/spiffe/workload/workload_pb.ts";
import { runWorkloadAgent } from "../../src/cli/workload-agent/index.ts";
import { workloads } from "../spiffe/support.ts";
import type { Workloads } from "../spiffe/support.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { runProgram } from "../support/program.ts";
import type { ProgramRun } from "../support/program.ts";
import { runCommand } from "./run-command.ts";

const folder = mkdtempSync(join(tmpdir(), "atrium-agent-"));
const at = (name: string): string => join(folder, name);
const required = { "workload.spiffe.io": "true" };

let app: TestApp;
let owner: Workloads;
let token = "";
let server = "";
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "on" } });
  owner = await workloads(app);
  token = await automationToken();
  server = app.mutualTls?.address ?? "";
  writeFileSync(at("ca.pem"), app.mutualTls?.certificate ?? "");
  writeFileSync(at("token"), `${token}\n`);
  writeFileSync(at("broken.pem"), "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n");
  writeFileSync(at("cut.pem"), `${app.mutualTls?.certificate}${app.mutualTls?.certificate.trim().slice(0, -40)}`);
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await app.close();
});

async function automationToken(): Promise<string> {
  const { status, body } = await app.call(
    "POST",
    `/api/organizations/${owner.org}/service-identities/automation-token`,
    {
      token: owner.elevated,
      body: { name: randomUUID(), identity_id: owner.identityId },
    },
  );
  expect(status).toBe(201);
  return body.access_token ?? body.token;
}

const args = (socket: string, more: Record<string, string> = {}): string[] =>
  Object.entries({ server, "ca-file": at("ca.pem"), socket: at(socket), "token-file": at("token"), ...more }).flatMap(
    ([name, value]) => [`--${name}`, value],
  );

function clientOf(socket: string) {
  const transport = createGrpcTransport({
    baseUrl: "http://localhost",
    nodeOptions: { createConnection: () => connect(at(socket)) },
  });
  return createClient(SpiffeWorkloadAPI, transport);
}

async function first<T>(items: AsyncIterable<T>): Promise<T> {
  for await (const item of items) return item;
  throw new Error("the stream had no item");
}

const codeOf = (call: Promise<unknown>): Promise<Code | undefined> =>
  call.then(
    () => undefined,
    (error: unknown) => ConnectError.from(error).code,
  );

/** An agent in this process, by the service's clock, that looks at the service often. */
async function agentHere(socket: string) {
  const lines: string[] = [];
  const stop = new AbortController();
  const terminal = {
    say: (line: string) => void lines.push(line),
    complain: (line: string) => void lines.push(line),
    input: process.stdin,
    folders: [folder],
  };
  const options = { server, caFile: at("ca.pem"), socket: at(socket), tokenFile: at("token") };
  const done = runWorkloadAgent(options, terminal, stop.signal, { now: app.clock.now, pollMs: 100 });
  await vi.waitFor(() => expect(lines.join("\n")).toContain("is valid until"), 120_000);
  return {
    lines,
    async stop() {
      stop.abort();
      expect(await done).toBe(0);
    },
  };
}

it("the agent serves X.509-SVIDs, JWT-SVIDs and bundles on its socket, and leaves nothing at a stop", async () => {
  const run: ProgramRun = runProgram("src/main.ts", ["workload-agent", ...args("real.sock")]);
  onTestFailed(() => void process.kill(run.pid, "SIGKILL"));
  await run.until(/The SVID of (spiffe:\S+) is valid until/);
  const id = `${owner.domain}/svc/${owner.identityId}`;
  expect(run.output()).toContain(id);
  expect(statSync(at("real.sock")).mode & 0o777).toBe(0o660);
  const client = clientOf("real.sock");
  const headers = required;
  const { svids, crl } = await first(client.fetchX509SVID({}, { headers }));
  expect(svids).toMatchObject([{ spiffeId: id }]);
  expect(crl).toHaveLength(1);
  const { bundles } = await first(client.fetchX509Bundles({}, { headers }));
  expect(Object.keys(bundles)).toEqual([owner.domain]);
  const jwt = await client.fetchJWTSVID({ audience: ["reports"] }, { headers });
  const [{ svid } = { svid: "" }] = jwt.svids;
  expect(await client.validateJWTSVID({ audience: "reports", svid }, { headers })).toMatchObject({ spiffeId: id });
  expect(await codeOf(client.validateJWTSVID({ audience: "other", svid }, { headers }))).toBe(Code.InvalidArgument);
  expect(await codeOf(client.fetchJWTSVID({ audience: [] }, { headers }))).toBe(Code.InvalidArgument);
  const twice = await client.fetchJWTSVID({ audience: ["reports", "reports"] }, { headers });
  expect(decodeJwt(twice.svids[0]?.svid ?? "").aud).toEqual(["reports"]);
  const many = client.fetchJWTSVID({ audience: Array.from({ length: 11 }, (_, n) => `a${n}`) }, { headers });
  await expect(many).rejects.toThrow("[invalid_argument] audience must have at most 10 items");
  expect(await codeOf(client.fetchJWTSVID({ audience: ["a"], spiffeId: `${id}x` }, { headers }))).toBe(
    Code.PermissionDenied,
  );
  expect(await codeOf(client.fetchJWTSVID({ audience: ["reports"] }))).toBe(Code.InvalidArgument);
  expect(await codeOf(first(client.fetchX509SVID({})))).toBe(Code.InvalidArgument);
  expect(await codeOf(first(client.fetchWITSVID({}, { headers })))).toBe(Code.Unimplemented);

  const second = await runCommand(["workload-agent", ...args("real.sock")]);
  expect(second).toMatchObject({ code: 2, err: expect.stringContaining("Another agent listens on") });
  process.kill(run.pid, "SIGTERM");
  expect(await run.exit).toBe(0);
  expect(() => statSync(at("real.sock"))).toThrow();
  for (const secret of [token, svid, "PRIVATE KEY"]) expect(run.output()).not.toContain(secret);
});

it("the agent renews at half of the lifetime with the SVID it has, and after a revocation with the token", async () => {
  const agent = await agentHere("renewed.sock");
  const headers = required;
  const updates = clientOf("renewed.sock").fetchX509SVID({}, { headers })[Symbol.asyncIterator]();
  const serials: string[] = [];
  const next = async (): Promise<string> => {
    // An update of the bundle repeats the certificate.
    for (;;) {
      const { value, done } = await updates.next();
      if (done === true) throw new Error("the stream ended");
      const certificate = Buffer.from(value.svids[0]?.x509Svid ?? []).toString("hex");
      if (serials.includes(certificate)) continue;
      serials.push(certificate);
      return certificate;
    }
  };
  await next();
  // The token no longer works: what renews the SVID is the SVID.
  writeFileSync(at("token"), "revoked");
  app.clock.advance(31 * 60_000);
  await next();
  writeFileSync(at("token"), token);
  const list = () => app.call("GET", "/api/auth/spiffe/svids?status=active&limit=1", { token: owner.token });
  owner = { ...owner, token: await app.login(owner.email, "a long enough one", owner.orgName) };
  const { svid_id: svidId } = (await list()).body.data[0];
  const revoked = await app.call("DELETE", `/api/auth/spiffe/svids/${svidId}`, { token: owner.token });
  expect(revoked.status).toBe(204);
  await vi.waitFor(() => expect(agent.lines.join("\n")).toContain("The service refused the SVID"), 120_000);
  await next();
  await agent.stop();
});

it("streams end with PERMISSION_DENIED when the identity is deleted", async () => {
  const agent = await agentHere("deleted.sock");
  const client = clientOf("deleted.sock");
  const updates = client.fetchX509SVID({}, { headers: required })[Symbol.asyncIterator]();
  await updates.next();
  const path = `/api/organizations/${owner.org}/service-identities/${owner.identityId}`;
  expect((await app.call("DELETE", path, { token: owner.token })).status).toBe(204);
  const rest = async (): Promise<void> => {
    while ((await updates.next()).done !== true);
  };
  expect(await codeOf(rest())).toBe(Code.PermissionDenied);
  expect(await codeOf(client.fetchJWTSVID({ audience: ["a"] }, { headers: required }))).toBe(Code.PermissionDenied);
  await agent.stop();
});

it.each([
  ["a token that is refused", "refused", {}, /^atrium: The service refused the automation token/u],
  ["an http URL", "", { server: "http://localhost:1" }, /^atrium: --server must be an https URL/u],
  ["a file without a certificate", "", { "ca-file": at("token") }, /has no certificate/u],
  ["a file with a broken certificate", "", { "ca-file": at("broken.pem") }, /has a certificate that cannot be read/u],
  ["a file whose certificate is cut off", "", { "ca-file": at("cut.pem") }, /has a certificate that cannot be read/u],
  ["a path that is no socket", "", { socket: at("ca.pem") }, /exists and is not a socket/u],
  ["a path that cannot be used", "", { socket: at("x".repeat(300)) }, /cannot be created \(ENAMETOOLONG\)/u],
])("the agent does not start with %s", async (_what, text, more: Record<string, string>, message) => {
  if (text !== "") writeFileSync(at("token"), text);
  const { code, err } = await runCommand(["workload-agent", ...args("none.sock", more)]);
  expect(err).toMatch(message);
  expect(code).toBe(2);
});
