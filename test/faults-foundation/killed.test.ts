import { afterAll, beforeAll, expect, it } from "vitest";
import type { Answer } from "../support/app.ts";
import { callRest } from "../support/app.ts";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { openMarket } from "../support/market.ts";
import type { Market } from "../support/market.ts";
import { freePort, runSql } from "../support/postgres.ts";
import { runProgram, testFolder } from "../support/program.ts";
import type { ProgramRun } from "../support/program.ts";
import { temporalServer } from "../support/temporal.ts";

const owner = { email: "owner@acme.test", password: "correct horse battery staple", org: "Acme" };
const folder = testFolder();
const running = new Set<ProgramRun>();
let database: TestDatabase;
let env: Record<string, string>;
let url: string;
let market: Market;

beforeAll(async () => {
  database = await testDatabase();
  const [{ address, namespace }, port] = await Promise.all([temporalServer(), freePort()]);
  url = `http://127.0.0.1:${port}`;
  env = {
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: namespace,
    PORT: String(port),
    SERVICE_INSTANCE_KEY: Buffer.alloc(32, 7).toString("base64"),
    SERVICE_MASTER_KEY: Buffer.alloc(32, 9).toString("base64"),
    SERVICE_BOOTSTRAP_PASSWORD: owner.password,
    SERVICE_WEBHOOK_SCHEDULE: "0s,100ms",
    SERVICE_WEBHOOK_TIMEOUT: "3s",
    SERVICE_DATA_DIR: folder.path,
  };
  await start("serve");
  market = await openMarket({ call, login } as Parameters<typeof openMarket>[0]);
});
afterAll(async () => {
  for (const program of running) await kill(program);
  await market.close();
  await database.close();
  folder.remove();
});

const call = (...args: [method: string, path: string, options?: Parameters<typeof callRest>[3]]): Promise<Answer> =>
  callRest(url, ...args);

async function login(): Promise<string> {
  const { body } = await call("POST", "/api/auth/login", {
    body: { email: owner.email, password: owner.password, org_name: owner.org },
  });
  return body.access_token as string;
}

async function start(role: "serve" | "all"): Promise<ProgramRun> {
  const program = runProgram("src/main.ts", [role], env);
  running.add(program);
  await program.until(/Ready on/u);
  return program;
}

async function kill(program: ProgramRun): Promise<void> {
  running.delete(program);
  process.kill(program.pid, "SIGKILL");
  await program.exit;
}

/** The process that runs now. */
const present = (): ProgramRun => [...running][0] as ProgramRun;
const outbox = async (): Promise<number> =>
  Number(
    (await runSql<{ n: string }>(database.url, "select count(*) as n from outbox where topic like 'install.%'"))[0]?.n,
  );

it("an install committed before the service was killed is provisioned once, after the next start", async () => {
  const offer = await market.offer(() => ({ status: 200, body: { endpoint_url: "https://orbit.example/" } }));
  const { status, body } = await offer.install();
  await kill(present());
  expect(status).toBe(202);
  expect(await outbox()).toBe(1);
  expect(offer.server.calls).toEqual([]);
  await start("all");
  expect(await market.until(body.install_id, "active")).toMatchObject({ endpoint_url: "https://orbit.example/" });
  expect(offer.server.calls.map(({ data }) => data.install_id)).toEqual([body.install_id]);
  await expect.poll(outbox).toBe(0);
});

it("a service killed during a provisioning call repeats it with the same install_id and id", async () => {
  const called = Promise.withResolvers<void>();
  const killed = Promise.withResolvers<void>();
  const offer = await market.offer(async (_call, nth) => {
    called.resolve();
    if (nth === 1) await killed.promise;
    return { status: 200 };
  });
  const { body } = await offer.install();
  await called.promise;
  await kill(present());
  killed.resolve();
  await start("all");
  await expect.poll(async () => (await market.read(body.install_id)).status).toBe("active");
  expect(offer.server.calls.length).toBeGreaterThan(1);
  expect(new Set(offer.server.calls.map(({ id }) => id)).size).toBe(1);
  expect(new Set(offer.server.calls.map(({ data }) => data.install_id))).toEqual(new Set([body.install_id]));
});
