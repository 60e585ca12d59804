import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { codeAt } from "../mfa/support.ts";
import { founder, invite, mailsTo, outcome, password as longPassword } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

// Hundreds of passwords are hashed.
let app: TestApp;
let second: TestApp;
beforeAll(async () => {
  const env = {
    SERVICE_RATE_LIMITS: "on",
    SERVICE_OPEN_SIGNUP: "1",
    SERVICE_TRUSTED_PROXIES: "127.0.0.1",
    SERVICE_MAGIC_LINK_DEV_ECHO: "1",
  };
  app = await startApp({ env });
  second = await startApp({ env, databaseUrl: app.databaseUrl, clock: app.clock });
});
afterAll(async () => {
  await second.close();
  await app.close();
});

const minute = 60_000;
const day = 24 * 60 * minute;
let addresses = 0;
/** An unused address, of 65,000. */
const stranger = (): string => `198.18.${++addresses >> 8}.${addresses & 255}`;
let calls = 0;

/** A call from an address, to one instance and the other in turn. */
function from(address: string, path: string, body: unknown): Promise<Answer> {
  calls += 1;
  return (calls % 2 === 0 ? app : second).call("POST", `/api/auth/${path}`, {
    body,
    headers: { "x-forwarded-for": address },
  });
}

const login = (address: string, email: string, password: string) =>
  from(address, "login", { email, password, org_name: app.owner.org });
const guess = (address: string, email: string, code = "x") => from(address, "otp/verify", { email, code });

/**
 * Makes calls, 12 at once, so that the hundredth has others beside it. More fill the queues of a slow machine, for
 * connections and hash threads: the 503 of such a call counts as no failure.
 */
async function inWaves(times: number, call: (at: number) => Promise<Answer>): Promise<Answer[]> {
  const answers: Answer[] = [];
  while (answers.length < times) {
    const length = Math.min(12, times - answers.length);
    answers.push(...(await Promise.all(Array.from({ length }, (_, nth) => call(answers.length + nth)))));
  }
  return answers;
}

/** Wrong tries, each from an address of its own, some of them passwords and most of them codes. */
async function fail(email: string, times: number): Promise<string[]> {
  const once = (at: number) => (at % 10 === 0 ? login(stranger(), email, "wrong") : guess(stranger(), email));
  return (await inWaves(times, once)).map(outcome);
}

function shut(answer: Answer): void {
  expect(outcome(answer)).toBe("429 rate_limited");
  expect(answer.headers.get("retry-after")).toBe("3600");
}

describe("after 100 consecutive failures by passwords and codes from any address", () => {
  it("only addresses that have signed the person in can try again, until a success", async () => {
    const { email, password } = app.owner;
    const [home, network, once] = ["192.0.2.1", "2001:db8:1:2::1", "192.0.2.2"];
    expect(outcome(await login(once, email, password))).toBe("200");
    app.clock.advance(30 * day);
    for (const address of [home, network]) expect(outcome(await login(address, email, password))).toBe("200");
    const outcomes = await fail(email, 130);
    expect(outcomes.filter((one) => one === "401 unauthorized")).toHaveLength(100);
    expect(outcomes.filter((one) => one === "429 rate_limited")).toHaveLength(30);
    app.clock.advance(10 * day);
    shut(await login(stranger(), email, password));
    shut(await guess(stranger(), email));
    shut(await login(once, email, password));
    expect(outcome(await login("2001:db8:1:2:ffff::9", email, "wrong"))).toBe("401 unauthorized");
    shut(await login("2001:db8:1:3::1", email, password));
    expect(outcome(await login(home, email, password))).toBe("200");
    expect(outcome(await login(stranger(), email, "wrong"))).toBe("401 unauthorized");
    expect(outcome(await login(stranger(), email, password))).toBe("200");
  });

  it("an address can try again however often others have signed the person in since", async () => {
    const { email, userUuid, orgName } = await founder(app);
    const enter = (address: string) => from(address, "login", { email, password: longPassword, org_name: orgName });
    const known = ["192.0.2.1", "2001:db8:1:2::1", "2001:db8::1:0:0:5", "2001:db8:0:1::1"];
    for (const address of known) expect(outcome(await enter(address))).toBe("200");
    app.clock.advance(day);
    // Of a program that signs in by their password.
    await runSql(
      app.databaseUrl,
      `insert into sessions (uuid, user_uuid, org_uuid, device_uuid, amr, auth_time, created_at, last_seen_at,
         ip_address, user_agent, expires_at, refresh_until)
       select gen_random_uuid(), user_uuid, org_uuid, device_uuid, amr, $2, $2, $2, '192.0.2.10', user_agent,
         expires_at, refresh_until
       from (select * from sessions where user_uuid = $1 limit 1) one, generate_series(1, 10000)`,
      [userUuid, new Date(app.clock.now())],
    );
    await fail(email, 100);
    for (const address of [stranger(), "192.0.2.11", "2001:db8:1:3::1", "2001:db8:0:2::1", "2001:db9::1"])
      shut(await enter(address));
    for (const address of ["192.0.2.1", "2001:db8:1:2:ffff::9", "2001:db8::9", "2001:db8:0:1:1::"])
      expect(outcome(await guess(address, email))).toBe("401 unauthorized");
    expect(outcome(await enter("192.0.2.10"))).toBe("200");
  });

  it("unknown people get the same responses", async () => {
    const email = "nobody@shut.test";
    expect((await fail(email, 100)).every((one) => one === "401 unauthorized")).toBe(true);
    shut(await login(stranger(), email, "wrong"));
    shut(await guess(stranger(), "NOBODY@shut.test"));
    expect(outcome(await login(stranger(), "other@shut.test", "wrong"))).toBe("401 unauthorized");
  });

  it("a sign-in of another kind ends the lockout", async () => {
    const { email, password } = app.owner;
    await fail(email, 100);
    shut(await login(stranger(), email, password));
    const { body: sent } = await from(stranger(), "magic-link/send", { email });
    expect(outcome(await from(stranger(), "magic-link/verify", { token: sent.dev_token }))).toBe("200");
    expect(outcome(await login(stranger(), email, password))).toBe("200");
  });

  it("a success by code or password resets the count", async () => {
    const { email } = app.owner;
    await fail(email, 60);
    await from(stranger(), "otp", { email });
    const code = /^ {4}(\d{6})$/mu.exec((await mailsTo(app, email)).at(-1)?.text ?? "")?.[1] ?? "";
    expect(outcome(await guess(stranger(), email, code))).toBe("200");
    expect((await fail(email, 60)).every((one) => one === "401 unauthorized")).toBe(true);
  });

  it("a right password that waits for the second factor counts as neither", async () => {
    const { email, orgName, token } = await founder(app);
    const factors = "/api/v1/me/mfa/factors";
    const { id, secret } = (await app.call("POST", factors, { token, body: { factor_type: "totp" } })).body.data;
    const code = codeAt(secret as string, app.clock.now());
    expect((await app.call("POST", `${factors}/${id}/verify`, { token, body: { code } })).status).toBe(200);
    const right = () => from(stranger(), "login", { email, password: longPassword, org_name: orgName });
    await fail(email, 98);
    for (let at = 0; at < 3; at++) expect((await right()).body.mfa_required).toBe(true);
    expect(await fail(email, 2)).toEqual(["401 unauthorized", "401 unauthorized"]);
    shut(await right());
  });

  it("a switch to another organization ends no lockout, which ends 30 days after the last failure", async () => {
    const [home, away] = [await founder(app), await founder(app)];
    const { token } = await invite(app, away, home.email);
    const accepted = await app.call("POST", "/api/auth/invite/accept", { token: home.token, body: { token } });
    expect(accepted.status).toBe(200);
    await fail(home.email, 100);
    const address = stranger();
    const headers = { "x-forwarded-for": address };
    const body = { org_uuid: away.org };
    expect((await app.call("POST", "/api/auth/switch", { token: home.token, body, headers })).status).toBe(200);
    for (const from of [stranger(), address]) shut(await guess(from, home.email));
    app.clock.advance(30 * day);
    expect(outcome(await guess(stranger(), home.email))).toBe("401 unauthorized");
  });

  it("attempts that are refused without a check are not counted", async () => {
    const email = "delayed@shut.test";
    const address = stranger();
    for (let at = 0; at < 10; at++) {
      app.clock.advance(6_000);
      expect(outcome(await login(address, email, "wrong"))).toBe("401 unauthorized");
    }
    for (let at = 0; at < 100; at++) expect((await login(address, email, "wrong")).status).toBe(429);
    expect((await fail(email, 90)).every((one) => one === "401 unauthorized")).toBe(true);
    shut(await login(stranger(), email, "wrong"));
    shut(await login(address, email, "wrong"));
  });
});

it("an address, or a network of 64 bits, can try sixty passwords a minute, of any people", async () => {
  for (const client of [() => "203.0.113.1", (at: number) => `2001:db8:9:9::${at.toString(16)}`]) {
    const answers = await inWaves(70, (at) => login(client(at), `many${at}@sixty.test`, "wrong"));
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(60);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(10);
    expect(outcome(await login(stranger(), "many0@sixty.test", "wrong"))).toBe("401 unauthorized");
  }
});
