import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";

let app: TestApp;
let second: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_RATE_LIMITS: "on" } });
  second = await startApp({ env: { SERVICE_RATE_LIMITS: "on" }, databaseUrl: app.databaseUrl, clock: app.clock });
});
afterAll(async () => {
  await second.close();
  await app.close();
});

const minute = 60_000;
const login = (password: string, email = app.owner.email, on = app) =>
  on.call("POST", "/api/auth/login", { body: { email, password, org_name: app.owner.org } });

/** Makes tries slowly enough for the bucket of 10 a minute. */
async function fail(times: number, email?: string): Promise<number[]> {
  const statuses: number[] = [];
  for (let at = 0; at < times; at++) {
    app.clock.advance(6_000);
    statuses.push((await login("wrong", email, at % 2 === 0 ? app : second)).status);
  }
  return statuses;
}

it("ten consecutive failures delay the next login by a minute, doubling to fifteen, on every instance", async () => {
  expect(await fail(10)).toEqual(Array<number>(10).fill(401));
  for (const delay of [1, 2, 4, 8, 15, 15]) {
    for (const instance of [app, second]) {
      const answer = await login(app.owner.password, app.owner.email, instance);
      expect(answer).toMatchObject({ status: 429, body: { code: "rate_limited" } });
      expect(answer.headers.get("retry-after")).toBe(String(delay * 60));
    }
    app.clock.advance(delay * minute - 1);
    expect((await login(app.owner.password)).status).toBe(429);
    app.clock.advance(1);
    expect((await login("wrong")).status).toBe(401);
  }
  app.clock.advance(15 * minute);
  expect((await login(app.owner.password)).status).toBe(200);
  expect(await fail(9)).toEqual(Array<number>(9).fill(401));
});

it("ten fast failures return the delay of the login, not the wait of the rate limit", async () => {
  const hasty = () => login("wrong", "hasty@delay.test");
  for (let at = 0; at < 10; at++) expect((await hasty()).status).toBe(401);
  const refused = await hasty();
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
  app.clock.advance(minute);
  expect((await hasty()).status).toBe(401);
});

it("failures count for one mailbox in every spelling of its domain", async () => {
  const send = (email: string) => app.call("POST", "/api/auth/magic-link/send", { body: { email } });
  for (const email of ["one@b\u00fccher.test", "ONE@xn--bcher-kva.test", " one@B\u00dcCHER.test"])
    expect((await send(email)).status, email).toBe(200);
  for (const email of ["one@b\uff55\u0308cher.test", "one@b\u00fccher.\uff54est"])
    expect((await send(email)).status, email).toBe(429);
});

it("failures of unknown people are delayed like those of known people", async () => {
  expect(await fail(10, "nobody@delay.test")).toEqual(Array<number>(10).fill(401));
  expect((await login("wrong", "NOBODY@delay.test")).status).toBe(429);
  expect((await login("wrong", "somebody@delay.test")).status).toBe(401);
});

it("failures of one day count together, and only rejected passwords count", async () => {
  expect(await fail(9, "day@delay.test")).toEqual(Array<number>(9).fill(401));
  app.clock.advance(24 * 60 * minute);
  expect(await fail(2, "day@delay.test")).toEqual([401, 401]);
  for (let at = 0; at < 12; at++) expect((await login("", "empty@delay.test")).status).toBe(400);
  expect((await login("wrong", "empty@delay.test")).status).toBe(401);
});

it("no login is delayed while rate limits are off", async () => {
  const free = await startApp({ env: { SERVICE_RATE_LIMITS: "off" }, databaseUrl: app.databaseUrl, clock: app.clock });
  for (let at = 0; at < 12; at++) expect((await login("wrong", "free@delay.test", free)).status).toBe(401);
  await free.close();
});
