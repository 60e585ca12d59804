import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { NODE_COMPILE_CACHE, testFolder } from "../support/program.ts";

/** Their lines are together more than the buffers between two processes hold. */
const REQUESTS = 2_000;

let home: TestDatabase;
const folder = testFolder();
beforeAll(async () => {
  home = await testDatabase();
});
afterAll(async () => {
  await home.close();
  folder.remove();
});

/** Starts the service in development; resolves with its address once it is ready. */
async function start(): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "../../src/main.ts")], {
    env: {
      PATH: process.env["PATH"],
      HOME: homedir(),
      NODE_COMPILE_CACHE,
      PORT: "0",
      SERVICE_DATA_DIR: folder.path,
      SERVICE_LOG_LEVEL: "info",
      SERVICE_CONSOLE: "off",
      DATABASE_URL: home.url,
      TEMPORAL_ADDRESS: "127.0.0.1:1",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let said = "";
  for await (const part of child.stdout.setEncoding("utf8").iterator({ destroyOnReturn: false })) {
    said += part as string;
    const url = /Ready on (\S+)\s/u.exec(said)?.[1];
    if (url !== undefined) return { child, url };
  }
  throw new Error(`the service did not start:\n${said}${String(child.stderr.read())}`);
}

test("a service in development serves and stops while the reader of its output has stopped", async () => {
  const { child, url } = await start();
  const exit = once(child, "exit");
  const statuses = new Set<number>();
  for (let sent = 0; sent < REQUESTS; sent += 50) {
    const answers = Array.from({ length: 50 }, () =>
      fetch(`${url}/api/auth/me`, { signal: AbortSignal.timeout(240_000) }),
    );
    for (const answer of await Promise.all(answers)) {
      statuses.add(answer.status);
      await answer.body?.cancel();
    }
  }
  expect([...statuses]).toEqual([401]);
  child.kill("SIGTERM");
  expect(await exit).toEqual([0, null]);
});
