import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { Code, ConnectError } from "@connectrpc/connect";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import type { JWTHeaderParameters } from "jose";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { workloads } from "../spiffe/support.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { runSql } from "../support/postgres.ts";
import { agentFolder, clientOn, headers, startAgent } from "./agent-here.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "on" } });
});
afterAll(() => app.close());

/** Leaves a socket as an agent does that is killed. */
async function leaveSocket(path: string): Promise<void> {
  const script = `require("net").createServer().listen(process.argv[1], () => console.log("listens"))`;
  const child = spawn(process.execPath, ["-e", script, path], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  child.kill("SIGKILL");
  await once(child, "close");
  expect(existsSync(path)).toBe(true);
}

it("the agent refuses a JWT-SVID with a reason of its own, also for its type", async () => {
  const owner = await workloads(app);
  // The test signs with the organization's key, which is what no other than the service can do.
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const { kty, crv, x, y } = await exportJWK(publicKey);
  const [{ kid }] = (await runSql(
    app.databaseUrl,
    "update spiffe_roots set jwt_public_jwk = $2 where org_uuid = $1 returning jwt_key_id as kid",
    [owner.org, JSON.stringify({ kty, crv, x, y })],
  )) as [{ kid: string }];
  const files = await agentFolder(app, owner);
  await startAgent(app, files).isReady();
  const client = clientOn(files.socket);
  const sub = `${owner.domain}/svc/${owner.identityId}`;
  const seconds = Math.floor(Date.now() / 1_000);
  const whole = { sub, aud: ["reports"], exp: seconds + 3_600 };
  const result = async (header: Partial<JWTHeaderParameters>, claims: Record<string, unknown> = {}, cut = 0) => {
    const made = new SignJWT({ ...whole, ...claims }).setProtectedHeader({ alg: "ES256", kid, ...header });
    const svid = await made.sign(privateKey);
    const request = { audience: "reports", svid: cut === 0 ? svid : `${svid.slice(0, -cut)}${"A".repeat(cut)}` };
    return client.validateJWTSVID(request, { headers }).then(
      ({ spiffeId }) => spiffeId,
      (error: unknown) => ConnectError.from(error).message,
    );
  };
  for (const header of [{}, { typ: "JWT" }, { typ: "JOSE" }]) expect(await result(header)).toBe(sub);
  const refused = (reason: string): string => `[invalid_argument] the JWT-SVID is not valid: ${reason}`;
  for (const typ of ["at+jwt", "jwt", "", "JWS"])
    expect(await result({ typ })).toBe(refused("its type (typ) is neither JWT nor JOSE"));
  expect(await result({}, { exp: seconds - 3_600 })).toBe(refused("it has expired"));
  expect(await result({}, { exp: undefined })).toBe(refused("its claim exp is missing"));
  expect(await result({}, { exp: "soon" })).toBe(refused("its claim exp is wrong"));
  expect(await result({}, { nbf: seconds + 3_600 })).toBe(refused("it is not valid yet"));
  expect(await result({}, { aud: "other" })).toBe(refused("it is for another audience"));
  expect(await result({}, { sub: "spiffe://other.test/svc/a" })).toBe(
    refused("its subject is of another trust domain"),
  );
  expect(await result({ kid: "other" })).toBe(refused("its key (kid) is not one of the trust domain"));
  expect(await result({}, {}, 20)).toBe(refused("its signature is wrong"));
  const none = { audience: "reports", svid: "not.a-token" };
  await expect(client.validateJWTSVID(none, { headers })).rejects.toThrow(
    refused("it is not a signed JWT in compact form"),
  );
});

it("of agents that start at the same time on a stale socket, exactly one serves and the others exit", async () => {
  const files = await agentFolder(app);
  for (let round = 0; round < 5; round++) {
    await leaveSocket(files.socket);
    const agents = Array.from({ length: 4 }, () => startAgent(app, files));
    const ended = new Map<number, number>();
    agents.forEach(({ done }, nth) => void done.then((code) => ended.set(nth, code)));
    await vi.waitFor(() => expect(ended.size).toBe(3), 120_000);
    for (const [nth, code] of ended) {
      expect(code).toBe(2);
      expect(agents[nth]?.lines.join("\n")).toMatch(/^atrium: Another agent listens on .*a\.sock; stop it, or choose/u);
    }
    const serving = agents.find((_agent, nth) => !ended.has(nth));
    await serving?.isReady();
    for await (const { svids } of clientOn(files.socket).fetchX509SVID({}, { headers })) {
      expect(svids).toHaveLength(1);
      break;
    }
    expect(readdirSync(files.folder).toSorted()).toEqual(["a.sock", "ca.pem", "token"]);
    serving?.stop();
    expect(await serving?.done).toBe(0);
    expect(existsSync(files.socket)).toBe(false);
  }
});

it("an agent that stops leaves the socket of another that took its path", async () => {
  const files = await agentFolder(app);
  const first = startAgent(app, files);
  await first.isReady();
  rmSync(files.socket);
  const second = startAgent(app, files);
  await second.isReady();
  first.stop();
  expect(await first.done).toBe(0);
  const call = clientOn(files.socket).fetchJWTSVID({ audience: [] }, { headers });
  await expect(call).rejects.toMatchObject({ code: Code.InvalidArgument });
});
