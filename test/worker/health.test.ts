import { expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { Role } from "../../src/app/app.ts";
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
