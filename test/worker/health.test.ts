import { expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { Role } from "../../src/app/app.ts";
import { testDatabase } from "../support/database.ts";
import { freePort } from "../support/postgres.ts";
import { temporalServer } from "../support/temporal.ts";

/** Waits until `/readyz` reports the expected state of the worker. */
async function expectHealth(
  role: Role,
  temporal: { address: string; namespace: string },
  expected: unknown,
): Promise<void> {
  const app = await startApp({ role, temporal, clock: systemClock });
  try {
    const answer = () => app.call("GET", "/readyz");
    await expect.poll(async () => (await answer()).body.worker as unknown).toEqual(expected);
    expect((await answer()).status).toBe(200);
    expect((await answer()).body.status).toBe("ok");
  } finally {
    await app.close();
  }
}

it("health reports ok for a worker that takes work", async () => {
  await expectHealth("all", await temporalServer(), "ok");
});

it("health reports why a worker cannot start, and the service stays ready", async () => {
  const { address } = await temporalServer();
  await expectHealth(
    "all",
    { address, namespace: "nobody-made-this" },
    expect.stringMatching(/nobody-made-this|not found/i),
  );
});

it("health reports a worker without its Temporal server, and the service stays ready", async () => {
  await expectHealth(
    "all",
    { address: "127.0.0.1:1", namespace: "none" },
    expect.not.stringMatching(/^(ok|starting)$/),
  );
});

it("health of a process without a worker does not mention one", async () => {
  await expectHealth("serve", { address: "127.0.0.1:1", namespace: "none" }, undefined);
});

it("a process of background work alone is probed on the metrics port", async () => {
  const port = await freePort();
  const temporal = { address: "127.0.0.1:1", namespace: "none" };
  const home = await testDatabase();
  const env = { SERVICE_METRICS_PORT: String(port) };
  const app = await startApp({ role: "worker", databaseUrl: home.url, temporal, clock: systemClock, env });
  const probe = async (path: string): Promise<[number, Record<string, string>]> => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`);
    return [answer.status, (await answer.json()) as Record<string, string>];
  };
  try {
    expect(await probe("/healthz")).toEqual([200, { status: "ok" }]);
    const [status, report] = await probe("/readyz");
    expect([status, report["status"], report["database"]]).toEqual([200, "ok", "ok"]);
    expect(report["worker"]).not.toBe("ok");
  } finally {
    await app.close();
    await home.close();
  }
});
