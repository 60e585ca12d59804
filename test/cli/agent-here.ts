import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { onTestFinished, vi, expect } from "vitest";
import { SpiffeWorkloadAPI } from "../../gen/spiffe/workload/workload_pb.ts";
import { runWorkloadAgent } from "../../src/cli/workload-agent/index.ts";
import { workloads } from "../spiffe/support.ts";
import type { Workloads } from "../spiffe/support.ts";
import type { TestApp } from "../support/app.ts";

/** The header that every call of the Workload API needs. */
export const headers = { "workload.spiffe.io": "true" };

/** A client of the agent that listens on a socket. */
export function clientOn(socket: string) {
  const transport = createGrpcTransport({
    baseUrl: "http://localhost",
    nodeOptions: { createConnection: () => connect(socket) },
  });
  return createClient(SpiffeWorkloadAPI, transport);
}

/** A folder with what agents of an identity need to start, removed when the test has finished. */
export async function agentFolder(app: TestApp, owner?: Workloads) {
  const folder = mkdtempSync(join(tmpdir(), "atrium-agent-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const { org, elevated, identityId } = owner ?? (await workloads(app));
  const path = `/api/organizations/${org}/service-identities/automation-token`;
  const body = { name: randomUUID(), identity_id: identityId, expires_in: 86_400 };
  const made = await app.call("POST", path, { token: elevated, body });
  const files = { caFile: join(folder, "ca.pem"), tokenFile: join(folder, "token"), socket: join(folder, "a.sock") };
  writeFileSync(files.caFile, app.mutualTls?.certificate ?? "");
  writeFileSync(files.tokenFile, made.body.token as string);
  return { folder, ...files, server: app.mutualTls?.address ?? "" };
}

/** Files and service of agents. */
export type AgentFolder = Awaited<ReturnType<typeof agentFolder>>;

/** Starts an agent in this process, by the service's clock; it is stopped when the test has finished. */
export function startAgent(app: TestApp, { folder, ...options }: AgentFolder) {
  const lines: string[] = [];
  const say = (line: string): void => void lines.push(line);
  const stop = new AbortController();
  const done = runWorkloadAgent(options, { say, complain: say, input: process.stdin, folders: [folder] }, stop.signal, {
    now: app.clock.now,
    elapsed: app.clock.now,
    pollMs: 50,
  });
  onTestFinished(async () => {
    stop.abort();
    await done;
  });
  return {
    lines,
    done,
    stop: () => stop.abort(),
    isReady: () => vi.waitFor(() => expect(lines.join("\n")).toContain("is valid until"), 120_000),
  };
}
