import { afterAll, beforeAll, expect, test } from "vitest";
import { issue, workloads } from "../spiffe/support.ts";
import type { Workloads } from "../spiffe/support.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { testClock } from "../support/clock.ts";
import { get } from "./client.ts";

let app: TestApp;
let behind: TestApp;
let owner: Workloads;
const clock = testClock();
beforeAll(async () => {
  app = await startApp();
  clock.set(app.clock.now());
  behind = await startApp({ databaseUrl: app.databaseUrl, clock });
  owner = await workloads(app);
});
afterAll(async () => {
  await behind.close();
  await app.close();
});

test.each([500, 9_000])("an SVID is accepted by an instance whose clock is %i ms behind", async (ms) => {
  clock.set(app.clock.now() - ms);
  const { body } = await issue(app, owner);
  const presented = { cert: body.certificate_pem as string, key: body.private_key_pem as string };
  expect(await get(behind, "/api/auth/me", presented)).toMatchObject({
    status: 200,
    body: { principal: { type: "svid", id: owner.identityId } },
  });
});

test("an SVID of an instance whose clock is far ahead is refused", async () => {
  clock.set(app.clock.now() - 12_000);
  const { body } = await issue(app, owner);
  const presented = { cert: body.certificate_pem as string, key: body.private_key_pem as string };
  expect(await get(behind, "/api/auth/me", presented)).toMatchObject({ status: 401 });
});
