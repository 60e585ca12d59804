import { createServer } from "node:http";
import type { ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { persistently } from "../support/persistently.ts";
import { temporalServer } from "../support/temporal.ts";
import { startReceiver } from "./receiver.ts";

const MOST = 1_000;
let app: TestApp;
let greedy: Somebody;
let other: Somebody;
beforeAll(async () => {
  const env = { SERVICE_OPEN_SIGNUP: "1", SERVICE_WEBHOOK_TIMEOUT: "4m" };
  app = await startApp({ role: "all", temporal: await temporalServer(), clock: systemClock, env });
  [greedy, other] = [await founder(app), await founder(app)];
});
afterAll(() => app.close());

const register = (by: Somebody, url: string, events = ["api_key.created"]) =>
  persistently(() => app.call("POST", "/api/v2/webhooks", { token: by.token, body: { url, events } }));

/** A receiver that keeps every post waiting until it is told to answer. */
async function startPatient() {
  const held: ServerResponse[] = [];
  const server = createServer((request, response) => request.resume().on("end", () => held.push(response))).listen(
    0,
    "127.0.0.1",
  );
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    held,
    answer: () => held.splice(0).forEach((response) => response.writeHead(204).end()),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

it("an organization has at most 1,000 webhooks under parallel requests, and may replace one", async () => {
  const urls = Array.from({ length: MOST - 1 }, (_, nth) => `https://example.com/${nth}`);
  const lanes = Array.from({ length: 8 }, async () => {
    for (let url = urls.pop(); url !== undefined; url = urls.pop())
      expect((await register(other, url)).status).toBe(201);
  });
  await Promise.all(lanes);
  const rush = await Promise.all(
    Array.from({ length: 12 }, (_, nth) => register(other, `https://example.com/rush-${nth}`)),
  );
  expect(rush.map(outcome).toSorted()).toEqual(["201", ...Array<string>(11).fill("409 conflict")]);
  const one = rush.find(({ status }) => status === 201)?.body.webhook_id as string;
  expect((await app.call("DELETE", `/api/v2/webhooks/${one}`, { token: other.token })).status).toBe(204);
  expect(outcome(await register(other, "https://example.com/again"))).toBe("201");
  expect(outcome(await register(other, "https://example.com/too-many"))).toBe("409 conflict");
  expect(outcome(await register(greedy, "https://example.com/other-organization"))).toBe("201");
});

it("an organization with 900 silent endpoints leaves places for others", async () => {
  const [patient, good, third] = [await startPatient(), await startReceiver(), await founder(app)];
  const left = Array.from({ length: 900 }, (_, nth) => nth);
  const lanes = Array.from({ length: 8 }, async () => {
    for (let nth = left.pop(); nth !== undefined; nth = left.pop())
      expect((await register(greedy, `${patient.url}${nth}`)).status).toBe(201);
  });
  await Promise.all(lanes);
  const webhookId = (await register(third, good.url)).body.webhook_id as string;
  const body = { name: "key", scopes: ["read:users"] };
  expect(
    (await app.call("POST", `/api/admin/organizations/${greedy.org}/api-keys`, { token: greedy.token, body })).status,
  ).toBe(201);
  await expect.poll(() => patient.held.length).toBeGreaterThan(300);
  // One after another: between two of them the poller looks for more to send.
  for (let nth = 0; nth < 20; nth++) {
    expect((await app.call("POST", `/api/v2/webhooks/${webhookId}/test`, { token: third.token })).status).toBe(202);
    await good.waitFor(nth + 1);
  }
  expect(patient.held.length).toBeLessThan(400);
  // Once its endpoints answer, the rest of them are told.
  const answered = new Set<ServerResponse>();
  await expect
    .poll(() => {
      patient.held.forEach((response) => answered.add(response));
      patient.answer();
      return answered.size;
    })
    .toBe(900);
  await Promise.all([patient.close(), good.close()]);
});
