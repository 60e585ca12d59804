import { expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { Role } from "../../src/app/app.ts";
import { temporalServer } from "../support/temporal.ts";

/** What `/readyz` comes to say of a worker. */
async function told(role: Role, temporal: { address: string; namespace: string }, expected: unknown): Promise<void> {
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

it("a worker that takes work is ok", async () => {
  await told("all", await temporalServer(), "ok");
});

it("a worker that cannot start is named with the reason, and the service stays ready", async () => {
  const { address } = await temporalServer();
  await told("all", { address, namespace: "nobody-made-this" }, expect.stringMatching(/nobody-made-this|not found/i));
});

it("a worker without its server is named, and the service stays ready", async () => {
  await told("all", { address: "127.0.0.1:1", namespace: "none" }, expect.not.stringMatching(/^(ok|starting)$/));
});

it("a process without a worker says nothing of one", async () => {
  await told("serve", { address: "127.0.0.1:1", namespace: "none" }, undefined);
});
