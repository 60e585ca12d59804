import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { watchDeadlocks } from "../support/deadlocks.ts";
import { sendInTurn } from "../support/holding.ts";
import { elevated, founder, mailsTo, outcome, tokenTo } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

const { log, deadlocks } = watchDeadlocks();
let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" }, log });
});
afterAll(() => app.close());

/** The token in the mails to an address that opens a page. */
async function mailed(email: string, page: string): Promise<string> {
  const text = (await mailsTo(app, email)).map((mail) => mail.text).join();
  return new RegExp(`/${page}#token=([\\w-]+)`, "u").exec(text)?.[1] ?? "";
}

it("an account is disowned while its address is confirmed, without a deadlock", async () => {
  const { email, userUuid } = await founder(app);
  const [disown, confirm] = [await mailed(email, "disown"), await mailed(email, "confirm-email")];

  const answers = await sendInTurn(
    app.databaseUrl,
    // The end of the account has locked the person by then, and comes to their sessions.
    ["select 1 from sessions where user_uuid = $1 for update", userUuid],
    () => app.call("POST", "/api/auth/email/disown", { body: { token: disown } }),
    () => app.call("POST", "/api/auth/email/confirm", { body: { token: confirm } }),
  );

  expect(answers.map(outcome)).toEqual(["204", "401 unauthorized"]);
  expect(deadlocks).toEqual([]);
});

/** How the owner of a mailbox ends the credentials of whoever signed up with it; resolves to what does so. */
const arrivals: Record<string, (email: string) => Promise<() => Promise<Answer>>> = {
  proven: async (email) => {
    await app.call("POST", "/api/auth/magic-link/send", { body: { email } });
    const token = await tokenTo(app, email);
    return () => app.call("POST", "/api/auth/magic-link/verify", { body: { token } });
  },
  disowned: async (email) => {
    const token = await mailed(email, "disown");
    return () => app.call("POST", "/api/auth/email/disown", { body: { token } });
  },
};

it.each(Object.keys(arrivals))(
  "an account is %s while it makes a token for a service identity, without a deadlock, and the token ends",
  async (how) => {
    const { email, org, token: plain } = await founder(app);
    const token = await elevated(app, plain);
    const path = `/api/organizations/${org}/service-identities`;
    const robot = await app.call("POST", path, { token, body: { name: "Robot", role_id: 1 } });
    const arrive = (await arrivals[how]?.(email)) ?? (() => Promise.reject(new Error(how)));
    const body = { name: "Token", identity_id: robot.body.identity_id };

    const [made, arrived] = await sendInTurn(
      app.databaseUrl,
      // The creation has locked the identity by then, and comes to the caller last.
      ["lock table auth_events in share mode"],
      () => app.call("POST", `${path}/automation-token`, { token, body }),
      arrive,
    );

    expect([made, arrived].map(outcome)).toEqual(["201", expect.stringMatching(/^20[04]$/)]);
    expect(outcome(await app.call("GET", "/api/auth/me", { token: made.body.token }))).toBe("401 unauthorized");
    expect(deadlocks).toEqual([]);
  },
);

it.each(Object.keys(arrivals))("an account is %s while it leaves its organization, without a deadlock", async (how) => {
  const { email, userUuid, token } = await founder(app);
  const arrive = (await arrivals[how]?.(email)) ?? (() => Promise.reject(new Error(how)));

  const answers = await sendInTurn(
    app.databaseUrl,
    // The one who leaves has locked the organization by then, and comes to the person.
    ["lock table mfa_factors in access exclusive mode"],
    () => app.call("DELETE", `/api/users/${userUuid}`, { token }),
    arrive,
  );

  expect(answers.map(outcome)).toEqual(["409 last_owner", expect.stringMatching(/^20[04]$/)]);
  expect(deadlocks).toEqual([]);
});

it("an account is disowned while it creates an organization, without a deadlock, and the organization ends", async () => {
  const { email, token } = await founder(app);
  const disown = await mailed(email, "disown");

  const answers = await sendInTurn(
    app.databaseUrl,
    // The creation has written the membership by then, and comes to the person.
    ["lock table signing_keys in share mode"],
    () => app.call("POST", "/api/organizations", { token, body: { name: "Further" } }),
    () => app.call("POST", "/api/auth/email/disown", { body: { token: disown } }),
  );

  expect(answers.map(outcome)).toEqual(["201", "204"]);
  expect(deadlocks).toEqual([]);
  const live = "select 1 from organizations where name = 'Further' and deleted_at is null";
  expect(await runSql(app.databaseUrl, live)).toEqual([]);
});
