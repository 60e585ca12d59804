import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { ServerProcess } from "../../src/app/dev/server-process.ts";
import type { StartError } from "../../src/platform/start-error.ts";
import { supervise } from "../../src/app/dev/supervisor.ts";

/** A server that dies when told to. */
function mortal(): ServerProcess & { die(): void } {
  let die: () => void = () => {};
  const exited = new Promise<string>((resolve) => {
    die = () => resolve("killed");
  });
  return {
    pid: 1,
    exited,
    ended: () => undefined,
    lastErrors: () => "",
    stop: async () => die(),
    abandon: () => die(),
    die: () => die(),
  };
}

function setUp(outcome: (attempt: number) => "up" | "down", stableAfterMs = 0) {
  const servers: ReturnType<typeof mortal>[] = [];
  const fatal: StartError[] = [];
  let attempts = 0;
  const start = async (): Promise<ServerProcess> => {
    attempts += 1;
    if (outcome(attempts) === "down") throw new Error("no luck");
    const server = mortal();
    servers.push(server);
    return server;
  };
  const supervised = supervise({
    name: "It",
    start,
    log: () => {},
    onFatal: (error) => fatal.push(error),
    pauses: [1, 1],
    stableAfterMs,
  });
  return { supervised, servers, fatal, attempts: () => attempts };
}

test("a server that ends is restarted every time", async () => {
  const { supervised, servers, fatal } = setUp(() => "up");
  const running = await supervised;
  for (let death = 0; death < 5; death += 1) {
    servers.at(-1)?.die();
    await expect.poll(() => servers.length).toBe(death + 2);
  }
  await running.stop();
  expect(fatal).toEqual([]);
  expect(servers).toHaveLength(6);
});

test("three failed starts in a row are fatal, with an error of one line", async () => {
  const { supervised, servers, fatal, attempts } = setUp((attempt) => (attempt === 1 ? "up" : "down"));
  const running = await supervised;
  servers[0]?.die();
  await expect.poll(() => fatal.map((error) => error.message)).toEqual(["It failed 3 times in a row: no luck"]);
  expect(attempts()).toBe(4);
  await running.stop();
});

test("a server that ends right after each start is not restarted forever", async () => {
  const { supervised, servers, fatal } = setUp(() => "up", 60_000);
  const running = await supervised;
  for (let death = 1; death <= 3; death += 1) {
    await expect.poll(() => servers.length).toBe(death);
    servers.at(-1)?.die();
  }
  await expect.poll(() => fatal).toHaveLength(1);
  await running.stop();
});

test("supervise rejects when the first start fails", async () => {
  await expect(setUp(() => "down").supervised).rejects.toThrow("no luck");
});

test("a server stopped during its restart stays down", async () => {
  const { supervised, servers, fatal } = setUp(() => "up");
  const running = await supervised;
  servers[0]?.die();
  await running.stop();
  await sleep(20);
  expect(servers.length).toBeLessThanOrEqual(2);
  expect(running.pid()).toBeUndefined();
  expect(fatal).toEqual([]);
});
