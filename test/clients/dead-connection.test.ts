import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { bearer, createAtrium } from "../../src/clients/typescript/index.ts";
import { createGrpcTransport } from "../../src/clients/typescript/node/index.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";

let app: TestApp;
const sockets = new Set<Socket>();
const proxy = createServer((near) => {
  const far = connect(Number(new URL(app.url).port), "127.0.0.1");
  for (const [one, other] of [
    [near, far],
    [far, near],
  ] as const) {
    sockets.add(one);
    one.pipe(other);
    one.on("error", () => undefined).on("close", () => other.destroy());
  }
});
beforeAll(async () => {
  app = await startApp();
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
});
afterEach(() => void vi.restoreAllMocks());
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  proxy.close();
  await app.close();
});

/** Loses all packets of the present connections, as a host that is gone does: nothing is closed. */
function losePackets(): void {
  for (const socket of sockets) socket.unpipe().resume();
}

it("a call over gRPC uses a new connection after the present one was silent for 20 seconds and is dead", async () => {
  const baseUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const credential = bearer(await app.login());
  const atrium = createAtrium({ baseUrl, credential, transport: createGrpcTransport({ baseUrl }) });
  await atrium.access.getMe({});
  // The stream of the call is closed a moment after its answer.
  await sleep(100);
  losePackets();
  const { now } = Date;
  vi.spyOn(Date, "now").mockImplementation(() => now() + 21_000);
  await expect(atrium.access.getMe({})).resolves.toMatchObject({ email: app.owner.email });
});
