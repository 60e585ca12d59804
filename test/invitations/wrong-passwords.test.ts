import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, invite, outcome, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let owner: Somebody;
let guest: Somebody;
let token: string;
beforeAll(async () => {
  app = await startApp({
    env: { SERVICE_RATE_LIMITS: "on", SERVICE_OPEN_SIGNUP: "1", SERVICE_TRUSTED_PROXIES: "127.0.0.1" },
  });
  owner = await founder(app);
  guest = await founder(app);
  ({ token } = await invite(app, owner, guest.email));
});
afterAll(() => app.close());

const minute = 60_000;
const post = (path: string, body: unknown, address: string) =>
  app.call("POST", `/api/auth/${path}`, { body, headers: { "x-forwarded-for": address } });
const accept = (tried: string | undefined, address: string) =>
  post("invite/accept", { token, password: tried }, address);
const login = (tried: string, address: string) => post("login", { email: guest.email, password: tried }, address);

/** Attempts slow enough for ten a minute. */
async function outcomes(times: number, attempt: (at: number) => ReturnType<typeof accept>): Promise<string[]> {
  const all: string[] = [];
  for (let at = 0; at < times; at++) {
    app.clock.advance(minute / 10);
    all.push(outcome(await attempt(at)));
  }
  return all;
}

it("ten wrong passwords at acceptance and login together delay both", async () => {
  const address = "192.0.2.1";
  expect(await outcomes(20, () => accept(undefined, address))).toEqual(Array<string>(20).fill("409 email_taken"));
  expect(await outcomes(5, () => accept("wrong", address))).toEqual(Array<string>(5).fill("409 email_taken"));
  expect(await outcomes(5, () => login("wrong", address))).toEqual(Array<string>(5).fill("401 unauthorized"));
  for (const attempt of [accept, login]) {
    const refused = await attempt(password, address);
    expect(outcome(refused)).toBe("429 rate_limited");
    expect(refused.headers.get("retry-after")).toBe("60");
  }
  app.clock.advance(minute);
  expect(outcome(await login(password, address))).toBe("200");
});

it("wrong passwords at acceptance lock out unknown addresses, and a right one resets the count", async () => {
  const stranger = (at: number) => `198.51.100.${at}`;
  const tries = await outcomes(100, (at) => accept("wrong", stranger(at)));
  expect(tries).toEqual(Array<string>(100).fill("409 email_taken"));
  for (const attempt of [accept, login]) {
    const refused = await attempt(password, stranger(200));
    expect(outcome(refused)).toBe("429 rate_limited");
    expect(refused.headers.get("retry-after")).toBe("3600");
  }
  expect(outcome(await accept(password, "192.0.2.1"))).toBe("200");
  expect(outcome(await login("wrong", stranger(201)))).toBe("401 unauthorized");
});
