import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { SpiffeWorkloadAPI } from "../../gen/spiffe/workload/workload_pb.ts";
import { runWorkloadAgent } from "../../src/cli/workload-agent/index.ts";
import type { Pace } from "../../src/cli/workload-agent/index.ts";
import { workloads } from "../spiffe/support.ts";
import type { Workloads } from "../spiffe/support.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { flakyLink } from "../support/flaky-link.ts";
import type { FlakyLink } from "../support/flaky-link.ts";
import { runSql } from "../support/postgres.ts";

const folder = mkdtempSync(join(tmpdir(), "atrium-renewal-"));
const at = (name: string): string => join(folder, name);
const HALF_MS = 31 * 60_000;
const headers = { "workload.spiffe.io": "true" };

let app: TestApp;
let owner: Workloads;
const stops: (() => Promise<void>)[] = [];
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "on" } });
  writeFileSync(at("ca.pem"), app.mutualTls?.certificate ?? "");
});
beforeEach(async () => {
  owner = await workloads(app);
});
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await app.close();
});

const sql = (text: string, params: unknown[] = []) => runSql(app.databaseUrl, text, params);
const issued = async (): Promise<number> =>
  (await sql("select 1 from svids where identity_id = $1", [owner.identityId])).length;

/** An agent in this process that looks at the service often, and what its workload receives. */
async function agent(pace: Partial<Pace> = {}, server = app.mutualTls?.address ?? "") {
  const path = `/api/organizations/${owner.org}/service-identities/automation-token`;
  const body = { name: randomUUID(), identity_id: owner.identityId, expires_in: 86_400 };
  const made = await app.call("POST", path, { token: owner.elevated, body });
  const name = randomUUID().slice(0, 8);
  writeFileSync(at(`${name}.token`), made.body.token as string);
  const lines: string[] = [];
  const say = (line: string): void => void lines.push(line);
  const stop = new AbortController();
  const done = runWorkloadAgent(
    { server, caFile: at("ca.pem"), socket: at(name), tokenFile: at(`${name}.token`) },
    { say, complain: say, input: process.stdin, folders: [folder] },
    stop.signal,
    { now: app.clock.now, elapsed: app.clock.now, pollMs: 50, ...pace },
  );
  await vi.waitFor(() => expect(lines.join("\n")).toContain("is valid until"), 120_000);
  const transport = createGrpcTransport({
    baseUrl: "http://localhost",
    nodeOptions: { createConnection: () => connect(at(name)) },
  });
  const client = createClient(SpiffeWorkloadAPI, transport);
  const received = new Set<string>();
  let failure: unknown;
  const reading = (async () => {
    for await (const { svids } of client.fetchX509SVID({}, { headers }))
      received.add(Buffer.from(svids[0]?.x509Svid ?? []).toString("hex"));
  })().catch((error: unknown) => (failure = error));
  const close = async (): Promise<void> => {
    stop.abort();
    expect(await done).toBe(0);
    await reading;
  };
  stops.push(close);
  await vi.waitFor(() => expect(received.size).toBe(1), 120_000);
  return {
    lines,
    received,
    client,
    stop: close,
    isOpen: () => failure === undefined,
    /** What renews the SVID from now on is the SVID. */
    loseToken: () => writeFileSync(at(`${name}.token`), "ended"),
  };
}

/** A way to the service that can be cut or silenced, and its URL. */
async function wayToService(): Promise<{ link: FlakyLink; url: string }> {
  const { hostname: host, port } = new URL(app.mutualTls?.address ?? "");
  const link = await flakyLink({ host, port: Number(port) });
  stops.push(() => link.close());
  return { link, url: `https://localhost:${link.port}` };
}

it("the agent keeps its SVID when the service refuses the one that it has just issued", async () => {
  const { lines, received, isOpen, loseToken } = await agent();
  loseToken();
  await sql(`create function refuse() returns trigger language plpgsql as $$
    begin new.revoked_at := new.created_at; return new; end $$`);
  await sql("create trigger refuse before insert on svids for each row execute function refuse()");
  try {
    app.clock.advance(HALF_MS);
    await vi.waitFor(() => expect(lines.join("\n")).toContain("it refused the SVID that it had just issued"), 120_000);
    await sleep(500);
    expect(isOpen()).toBe(true);
    expect(received.size).toBe(1);
    // It does not ask for another one at each look.
    expect(await issued()).toBe(2);
  } finally {
    await sql("drop trigger refuse on svids");
    await sql("drop function refuse()");
  }
  app.clock.advance(61_000);
  await vi.waitFor(() => expect(received.size).toBe(2), 120_000);
  expect(isOpen()).toBe(true);
});

it("workloads receive a renewed SVID while the revocation list cannot be read", async () => {
  const { lines, received, isOpen } = await agent();
  await sql("alter table spiffe_revocation_lists rename column covers to hidden");
  try {
    app.clock.advance(HALF_MS);
    await vi.waitFor(() => expect(received.size).toBe(2), 120_000);
    await vi.waitFor(() => expect(lines.join("\n")).toContain("The service cannot be asked"), 120_000);
    // Past the end of the first one.
    app.clock.advance(HALF_MS);
    await vi.waitFor(() => expect(received.size).toBe(3), 120_000);
    expect(isOpen()).toBe(true);
  } finally {
    await sql("alter table spiffe_revocation_lists rename column hidden to covers");
  }
});

it("an agent whose clock is wrong says so, and issues one SVID for each half of a lifetime", async () => {
  for (const [minutes, said] of [
    [31, "1860 seconds ahead of"],
    [61, "3660 seconds ahead of"],
    [-31, "1860 seconds behind"],
  ] as const) {
    owner = await workloads(app);
    const { lines, received } = await agent({ now: () => app.clock.now() + minutes * 60_000 });
    await sleep(1_000);
    expect(await issued()).toBe(1);
    expect(lines.filter((line) => line.includes("The clock of this machine"))).toEqual([
      expect.stringContaining(said) as string,
    ]);
    app.clock.advance(HALF_MS);
    await vi.waitFor(() => expect(received.size).toBe(2), 120_000);
    expect(await issued()).toBe(2);
  }
});

it("an SVID is renewed at once when the agent's clock jumps past its end, and in time after a jump back", async () => {
  let jumpMs = 0;
  const { received, isOpen, loseToken } = await agent({ now: () => app.clock.now() + jumpMs });
  loseToken();
  jumpMs = 4 * HALF_MS;
  await vi.waitFor(() => expect(received.size).toBe(2), 120_000);
  jumpMs = -4 * HALF_MS;
  // Several looks at the service.
  await sleep(1_000);
  expect(isOpen()).toBe(true);
  expect(await issued()).toBe(2);
  app.clock.advance(HALF_MS);
  await vi.waitFor(() => expect(received.size).toBe(3), 120_000);
  expect(await issued()).toBe(3);
  expect(isOpen()).toBe(true);
});

it("JWT-SVIDs that are requested while the SVID is renewed are issued", async () => {
  const { client, received } = await agent();
  let isOver = false;
  const requests = Array.from({ length: 12 }, async () => {
    for (let count = 0; ; count++) {
      const { svids } = await client.fetchJWTSVID({ audience: ["reports"] }, { headers });
      expect(svids).toHaveLength(1);
      if (isOver) return count;
    }
  });
  const all = Promise.all(requests);
  for (const renewals of [2, 3, 4]) {
    app.clock.advance(HALF_MS);
    await Promise.race([all, vi.waitFor(() => expect(received.size).toBe(renewals), 120_000)]);
  }
  isOver = true;
  for (const count of await all) expect(count).toBeGreaterThan(0);
});

it("the agent stops while the service is silent, without waiting for its response", async () => {
  const { link, url } = await wayToService();
  const { lines, stop } = await agent({}, url);
  link.deafen();
  await vi.waitFor(() => expect(link.held()).toBeGreaterThan(0), 120_000);
  await stop();
  expect(lines.at(-1)).toBe("Stopped");
  expect(lines.join("\n")).not.toContain("The service cannot be asked");
});

it("an SVID that has expired while the service is away is not served", async () => {
  const { link, url } = await wayToService();
  const { lines, client } = await agent({}, url);
  await link.cut();
  app.clock.advance(2 * HALF_MS);
  await vi.waitFor(() => expect(lines.join("\n")).toContain("The service cannot be asked"), 120_000);
  const received: unknown[] = [];
  const stop = new AbortController();
  const reading = (async () => {
    for await (const { svids } of client.fetchX509SVID({}, { headers, signal: stop.signal })) received.push(svids);
  })().catch(() => undefined);
  // Several looks at the service.
  await sleep(1_000);
  expect(received).toEqual([]);
  expect(lines.filter((line) => line.includes("is valid until"))).toHaveLength(1);
  await link.restore();
  await vi.waitFor(() => expect(received).toHaveLength(1), 120_000);
  stop.abort();
  await reading;
});
