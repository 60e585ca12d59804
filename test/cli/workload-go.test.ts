import { spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { workloads } from "../spiffe/support.ts";
import type { Workloads } from "../spiffe/support.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { runProgram } from "../support/program.ts";
import type { ProgramRun } from "../support/program.ts";

const folder = mkdtempSync(join(tmpdir(), "atrium-go-"));
const at = (name: string): string => join(folder, name);
const example = join(import.meta.dirname, "../../examples/workload-go");

const go = (...args: string[]) =>
  spawnSync("go", args, {
    env: { ...process.env, PATH: [process.env["PATH"] ?? "", "/usr/local/go/bin"].join(":") },
    encoding: "utf8",
  });
const hasGo = go("version").error === undefined;
if (!hasGo) console.log("The test of examples/workload-go is skipped: Go is not installed");

let app: TestApp;
let owner: Workloads;
let agent: ProgramRun;
beforeAll(async () => {
  if (!hasGo) return;
  const { status, stderr } = go("-C", example, "build", "-o", at("workload"), ".");
  expect(status, stderr).toBe(0);
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "on" } });
  owner = await workloads(app);
  const made = await app.call("POST", `/api/organizations/${owner.org}/service-identities/automation-token`, {
    token: owner.elevated,
    body: { name: randomUUID(), identity_id: owner.identityId },
  });
  writeFileSync(at("token"), made.body.token as string);
  writeFileSync(at("ca.pem"), app.mutualTls?.certificate ?? "");
  const server = app.mutualTls?.address ?? "";
  const files = ["--ca-file", at("ca.pem"), "--socket", at("agent.sock"), "--token-file", at("token")];
  agent = runProgram("src/main.ts", ["workload-agent", "--server", server, ...files]);
  await agent.until(/is valid until/u);
});
afterAll(async () => {
  // What `beforeAll` did not get to is missing, and its own failure is the one to report.
  const started: { app?: TestApp; agent?: ProgramRun } = { app, agent };
  if (started.agent !== undefined) {
    process.kill(started.agent.pid, "SIGTERM");
    await started.agent.exit;
  }
  await started.app?.close();
  rmSync(folder, { recursive: true });
});

const environment = { SPIFFE_ENDPOINT_SOCKET: `unix://${at("agent.sock")}` };
const start = (args: string[]) =>
  spawn(at("workload"), args, { env: environment, stdio: ["ignore", "pipe", "inherit"] });

it.skipIf(!hasGo)(
  "stock go-spiffe workloads get SVIDs from the socket, and make mutual TLS with each other and with the service",
  async () => {
    const id = `${owner.domain}/svc/${owner.identityId}`;
    const one = start(["-listen", "127.0.0.1:0"]);
    try {
      let said = "";
      one.stdout.setEncoding("utf8").on("data", (part: string) => (said += part));
      await vi.waitFor(() => expect(said).toMatch(/listening \S+\n/u), 120_000);
      const peer = /listening (\S+)/u.exec(said)?.[1] ?? "";
      const api = `${app.mutualTls?.address ?? ""}/api/auth/me`;
      const calls = ["-call", `https://${peer}/`, "-peer", id, "-api", api, "-api-ca", at("ca.pem")];
      const two = start([...calls, "-audience", "reports"]);
      let out = "";
      two.stdout.setEncoding("utf8").on("data", (part: string) => (out += part));
      const [code] = (await once(two, "close")) as [number];
      expect(out).toContain(`id ${id}\n`);
      expect(out).toContain(`jwt ${id} ${id}\n`);
      expect(out).toContain(`peer 200 you are ${id}\n`);
      const [, body = "{}"] = /^api 200 (.*)$/mu.exec(out) ?? [];
      expect(JSON.parse(body)).toMatchObject({ principal: { type: "svid", id: owner.identityId } });
      expect(code).toBe(0);
    } finally {
      one.kill();
    }
  },
);
