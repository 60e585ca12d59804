import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { afterAll, expect, test } from "vitest";
import { workflowBundle } from "../../src/worker/bundle.ts";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { freePort } from "../support/postgres.ts";
import { runProgram, testFolder } from "../support/program.ts";
import type { ProgramRun } from "../support/program.ts";
import { temporalServer } from "../support/temporal.ts";
import { root } from "../shape/sources.ts";

/** An account that may read the program and write nowhere in it. */
const NOBODY = 65_534;

const folder = testFolder();
let run: ProgramRun | undefined;
let home: TestDatabase | undefined;
afterAll(async () => {
  if (run !== undefined) process.kill(run.pid, "SIGTERM");
  await run?.exit;
  await home?.close();
  folder.remove();
});

// Only root can become somebody who may not write here.
test.skipIf(process.getuid?.() !== 0)(
  "the program starts and works in production from a folder it cannot write, and writes nothing there",
  async () => {
    expect(await workflowBundle()).toHaveProperty("codePath");
    home = await testDatabase();
    const { address, namespace } = await temporalServer();
    const port = await freePort();
    run = runProgram(
      "src/launch/run.sh",
      ["start"],
      {
        SERVICE_PROFILE: "production",
        PORT: String(port),
        SERVICE_HOST: "127.0.0.1",
        SERVICE_BASE_URL: "https://id.example.com",
        SERVICE_DATA_DIR: folder.path,
        DATABASE_URL: home.url,
        TEMPORAL_ADDRESS: address,
        TEMPORAL_NAMESPACE: namespace,
        SERVICE_INSTANCE_KEY: randomBytes(32).toString("base64"),
        SERVICE_MAIL: "off",
      },
      NOBODY,
    );
    await run.until(/Ready on https:\/\/id\.example\.com/);
    const report = async () =>
      (await (await fetch(`http://127.0.0.1:${port}/readyz`)).json()) as Record<string, string>;
    await expect
      .poll(report)
      .toEqual({ status: "ok", database: "ok", migrations: "ok", temporal: "ok", vault: "sealed", worker: "ok" });
    expect(execFileSync("find", [root, "-xdev", "-uid", String(NOBODY)], { encoding: "utf8" })).toBe("");
  },
);
