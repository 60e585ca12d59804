import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { newcomer, outcome, password } from "../support/people.ts";

let app: TestApp;
let second: TestApp;
beforeAll(async () => {
  const env = { SERVICE_RATE_LIMITS: "on", SERVICE_OPEN_SIGNUP: "1", SERVICE_TRUSTED_PROXIES: "127.0.0.1" };
  app = await startApp({ env });
  second = await startApp({ env, databaseUrl: app.databaseUrl, clock: app.clock });
});
afterAll(async () => {
  await second.close();
  await app.close();
});

let addresses = 0;
const address = (): string => `192.0.2.${++addresses}`;
let tried = 0;

/** A call from an address, to one instance and the other in turn. */
function from(client: string, method: string, path: string, body?: unknown): Promise<Answer> {
  tried += 1;
  return (tried % 2 === 0 ? app : second).call(method, path, { body, headers: { "x-forwarded-for": client } });
}

/** How many of a row of calls are let through before the first 429, and the seconds that one says to wait. */
async function allowed(call: (at: number) => Promise<Answer>): Promise<[through: number, retryAfter: number]> {
  for (let at = 0; at < 40; at++) {
    const answer = await call(at);
    if (answer.status === 429) {
      expect(answer.body.code).toBe("rate_limited");
      return [at, Number(answer.headers.get("retry-after"))];
    }
  }
  return [40, 0];
}

describe("rate limits that count valid requests of all instances together", () => {
  it("an email gets three mails in ten minutes, for any kind of sign-in and from any address", async () => {
    const doors = ["/api/auth/otp", "/api/auth/magic-link/send", "/api/auth/password/forgot"];
    expect(
      await allowed((at) =>
        from(address(), "POST", doors[at % 3] ?? "", { email: at === 1 ? "ONE@mail.test" : "one@mail.test" }),
      ),
    ).toEqual([3, 200]);
    app.clock.advance(200_000);
    expect(await allowed(() => from(address(), "POST", "/api/auth/otp", { email: "one@mail.test" }))).toEqual([1, 200]);
  });

  it.each([
    ["an IPv4 address", () => "198.51.100.7"],
    ["a network of 64 bits", (at: number) => `2001:db8::${at.toString(16)}`],
  ])("%s can request twenty mails an hour, and others are not affected", async (_what, client) => {
    const mail = () => `${randomUUID()}@mail.test`;
    expect(await allowed((at) => from(client(at), "POST", "/api/auth/magic-link/send", { email: mail() }))).toEqual([
      20, 180,
    ]);
    const other = mail();
    for (let at = 0; at < 5; at++)
      expect((await from(client(at), "POST", "/api/auth/otp", { email: other })).status).toBe(429);
    expect(await allowed(() => from(address(), "POST", "/api/auth/otp", { email: other }))).toEqual([3, 200]);
  });

  it("logins, sign-ups and acceptances have limits of their own", async () => {
    const [login, signUp, accept] = [address(), address(), address()];
    expect(
      (
        await allowed(() =>
          from(login, "POST", "/api/auth/login", { email: "who@x.test", password: "x", org_name: "y" }),
        )
      )[0],
    ).toBe(10);
    expect(
      outcome(await from(address(), "POST", "/api/auth/login", { email: "who@x.test", password: "x", org_name: "y" })),
    ).toBe("401 unauthorized");
    expect(
      outcome(await from(login, "POST", "/api/auth/login", { email: "other@x.test", password: "x", org_name: "y" })),
    ).toBe("401 unauthorized");
    expect(
      await allowed((at) =>
        from(signUp, "POST", "/api/organizations", {
          name: `Many ${at}`,
          email: `many${at}@x.test`,
          password,
          first_name: "A",
        }),
      ),
    ).toEqual([10, 360]);
    expect(
      await allowed(() => from(accept, "POST", "/api/auth/invite/accept", { token: randomUUID(), ...newcomer() })),
    ).toEqual([10, 6]);
  });

  it("requests that are not valid are not counted", async () => {
    const client = address();
    for (const [path, body] of [
      ["otp", { email: "x" }],
      ["login", { email: "x" }],
      ["invite/accept", {}],
      ["magic-link/send", "{"],
    ] as const) {
      expect((await allowed(() => from(client, "POST", `/api/auth/${path}`, body)))[0], path).toBe(40);
    }
  });
});

it("an address can look up thirty names a minute, valid or not", async () => {
  const client = address();
  expect(await allowed((at) => from(client, "GET", `/api/auth/orgs/check${at % 2 === 0 ? "?name=x" : ""}`))).toEqual([
    30, 2,
  ]);
});

it("every other route serves six hundred requests a minute, of anonymous clients by address", async () => {
  // Instances lease of this budget in advance, so one alone spends it to the last.
  const alone = (client: string, path: string, body: unknown) =>
    app.call("POST", path, { body, headers: { "x-forwarded-for": client } });
  const [client, other] = [address(), address()];
  const answers = await Promise.all(
    Array.from({ length: 620 }, () => alone(client, "/api/auth/refresh", { refresh_token: "x" })),
  );
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(600);
  const challenge = { mfa_token: "x", code: "1" };
  expect(outcome(await alone(client, "/api/auth/mfa/totp/challenge", challenge))).toBe("429 rate_limited");
  expect(outcome(await alone(other, "/api/auth/mfa/totp/challenge", challenge))).toBe("401 unauthorized");
});
