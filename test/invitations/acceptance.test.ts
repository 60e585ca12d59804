import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { sendInTurn } from "../support/holding.ts";
import { runSql } from "../support/postgres.ts";
import { auditOf, founder, invite, mailsTo, member, newcomer, outcome, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let second: TestApp;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock });
  owner = await founder(app, "Hosts");
});
afterAll(async () => {
  await second.close();
  await app.close();
});

const accept = (body: unknown, token?: string) => app.call("POST", "/api/auth/invite/accept", { body, token });
const show = (token: string) => app.call("GET", `/api/auth/invite/${token}`);

describe("a new person", () => {
  it("a new person sees the invitation, joins with its role and has a session", async () => {
    const { token, answer } = await invite(app, owner, "New.Person@Guests.TEST", 2);
    expect(answer.status).toBe(201);
    const shown = await show(token);
    expect(shown.body).toEqual({
      email: "New.Person@guests.test",
      org_uuid: owner.org,
      org_name: "Hosts",
      role: "manager",
      expires_at: answer.body.expires_at,
    });
    expect(shown.headers.get("cache-control")).toBe("no-store");
    const accepted = await accept({
      token,
      ...newcomer("nia"),
      phone: "+4915112345678",
      org_uuid: "ignored",
      role_id: 1,
      email: "other@guests.test",
    });
    expect(accepted.status).toBe(200);
    expect(accepted.headers.get("vary")).toContain("accept");
    expect(accepted.headers.get("cache-control")).toBe("no-store");
    const { data } = accepted.body;
    expect(Object.keys(data).sort()).toEqual([
      "access_token",
      "device_uuid",
      "expires_in",
      "message",
      "org_uuid",
      "refresh_token",
      "role",
      "token_type",
      "user_uuid",
    ]);
    expect(data).toMatchObject({ org_uuid: owner.org, role: "manager", token_type: "Bearer", expires_in: 420 });
    const { body: me } = await app.call("GET", "/api/auth/me", { token: data.access_token });
    expect(me).toMatchObject({
      user_uuid: data.user_uuid,
      email: "New.Person@guests.test",
      org_uuid: owner.org,
      roles: ["manager"],
    });
    expect((await app.call("GET", "/api/profile", { token: data.access_token })).body).toMatchObject({
      first_name: "Nia",
      last_name: "Nu",
      username: "nia",
      phone: "+4915112345678",
    });
    expect((await app.call("POST", "/api/auth/refresh", { body: { refresh_token: data.refresh_token } })).status).toBe(
      200,
    );
    await expect(app.login("new.person@guests.test", password, "hosts")).resolves.toBeDefined();
    expect(outcome(await show(token))).toBe("400 invitation_expired");
    expect(outcome(await accept({ token, ...newcomer() }))).toBe("400 invitation_expired");
    expect((await auditOf(app, owner, "user.joined"))[0]).toMatchObject({
      outcome: "success",
      resource_id: data.user_uuid,
      metadata: { method: "invitation", role: "manager" },
    });
  });

  it("a new person must give name, username and password", async () => {
    const { token } = await invite(app, owner, "nameless@guests.test");
    const { status, body } = await accept({ token });
    expect(status).toBe(400);
    expect(body.code).toBe("validation_error");
    expect((body.errors as { field: string }[]).map(({ field }) => field).sort()).toEqual([
      "first_name",
      "last_name",
      "password",
      "username",
    ]);
    for (const wrong of [
      { password: "short" },
      { password: "password123" },
      { password: "nameless@guests.test" },
      { password: "Hosts   " },
      { phone: "0151" },
      { username: "a b" },
      { username: "x".repeat(65) },
    ]) {
      expect(outcome(await accept({ token, ...newcomer(), ...wrong })), JSON.stringify(wrong)).toBe(
        "400 validation_error",
      );
    }
    expect((await accept({ token, ...newcomer() })).status).toBe(200);
  });

  it("a username in use is refused in any case, and the invitation can be accepted with another", async () => {
    const { token } = await invite(app, owner, "second-nia@guests.test");
    const first = await invite(app, owner, "first-nia@guests.test");
    expect((await accept({ token: first.token, ...newcomer("unique-nia") })).status).toBe(200);
    expect(outcome(await accept({ token, ...newcomer("Unique-NIA") }))).toBe("409 username_taken");
    expect((await accept({ token, ...newcomer("unique-nia-2") })).status).toBe(200);
  });

  it("concurrent acceptances on two instances create one person", async () => {
    const { token } = await invite(app, owner, "race@guests.test");
    const tries = Array.from({ length: 50 }, (_, at) =>
      (at % 2 === 0 ? app : second).call("POST", "/api/auth/invite/accept", {
        body: { token, ...newcomer(`racer${at}`) },
      }),
    );
    const outcomes = (await Promise.all(tries)).map(outcome);
    expect(outcomes.filter((one) => one === "200")).toHaveLength(1);
    expect(new Set(outcomes.filter((one) => one !== "200"))).toEqual(new Set(["400 invitation_expired"]));
    expect(
      await runSql(
        app.databaseUrl,
        "select 1 from sessions s join people p on p.uuid = s.user_uuid where p.email_key = 'race@guests.test'",
      ),
    ).toHaveLength(1);
  });
});

describe("an invitation", () => {
  it.each(["nonsense", "0b1d2a3e-aaaa-4000-8000-00000000000f", "%20", "../../x"])(
    "an invitation with the token %s does not exist",
    async (token) => {
      expect(outcome(await accept({ token, ...newcomer() }))).toBe("404 invitation_not_found");
      if (!token.includes("/")) expect(outcome(await show(token))).toBe("404 invitation_not_found");
    },
  );

  it("an invitation without a token is refused", async () => {
    expect(outcome(await accept({}))).toBe("400 validation_error");
  });

  it("an invitation expires after seven days", async () => {
    const guests = await founder(app);
    const { token, id } = await invite(app, guests, "late@guests.test");
    app.clock.advance(7 * 86_400_000);
    expect(outcome(await show(token))).toBe("400 invitation_expired");
    expect(outcome(await accept({ token, ...newcomer() }))).toBe("400 invitation_expired");
    const again = await app.login(guests.email, password, guests.orgName);
    const { body } = await app.call("GET", `/api/admin/organizations/${guests.org}/invitations`, { token: again });
    expect(body.data).toMatchObject([{ invitation_id: id, status: "expired" }]);
    owner = { ...owner, token: await app.login(owner.email, password, owner.orgName) };
  });

  it("an invitation's token is stored hashed, and its mail sealed", async () => {
    const { token } = await invite(app, owner, "hidden@guests.test");
    const [stored] = await runSql<{ all: string }>(
      app.databaseUrl,
      `select (select string_agg(i::text, '') from invitations i)
         || (select string_agg(o::text, '') from outbox o) as all`,
    );
    expect(stored?.all).not.toContain(token);
    const [mail] = await mailsTo(app, "hidden@guests.test");
    expect(mail).toMatchObject({ subject: "Invitation to Hosts" });
    expect(mail?.text).toContain(`http://atrium.test/invite#token=${token}`);
    expect(mail?.text).toContain(owner.email);
  });
});

describe("an existing person", () => {
  it("an existing person joins with their present password, and nothing else about them changes", async () => {
    const guest = await founder(app);
    const { token } = await invite(app, owner, guest.email);
    for (const wrong of [{}, { password: "another one entirely" }, { password: "short" }, newcomer("thief")].map(
      (body) => ({
        ...body,
        ...("username" in body ? { password: "stolen account 1" } : {}),
      }),
    )) {
      const refused = await accept({ token, ...wrong });
      expect(outcome(refused)).toBe("409 email_taken");
      expect(refused.body.message).toMatch(/present password/u);
    }
    const accepted = await accept({ token, ...newcomer("renamed") });
    expect(accepted.body.data).toMatchObject({ user_uuid: guest.userUuid, org_uuid: owner.org, role: "employee" });
    expect((await app.call("GET", "/api/profile", { token: accepted.body.data.access_token })).body).toMatchObject({
      first_name: "Fay",
    });
    expect((await app.call("GET", "/api/auth/me", { token: guest.token })).status).toBe(200);
    expect(
      (await auditOf(app, owner, "user.joined")).filter(({ outcome: how }) => how === "failure").at(0),
    ).toMatchObject({ metadata: { code: "email_taken" } });
  });

  it("an existing person joins with their own bearer token; a token of another person counts as none", async () => {
    const guest = await founder(app);
    const stranger = await founder(app);
    const { token } = await invite(app, owner, guest.email);
    expect(outcome(await accept({ token }, stranger.token))).toBe("409 email_taken");
    expect(outcome(await accept({ token }, "broken"))).toBe("409 email_taken");
    const accepted = await accept({ token }, guest.token);
    expect(accepted.body.data).toMatchObject({ user_uuid: guest.userUuid, org_uuid: owner.org });
    expect((await app.call("GET", "/api/auth/me", { token: accepted.body.data.access_token })).body).toMatchObject({
      org_uuid: owner.org,
    });
    expect((await auditOf(app, owner, "email.confirmed"))[0]).toMatchObject({
      resource_id: guest.userUuid,
      actor: { id: guest.userUuid },
    });
  });

  it("concurrent acceptances create one membership", async () => {
    const guest = await founder(app);
    const { token } = await invite(app, owner, guest.email);
    const outcomes = (await Promise.all(Array.from({ length: 50 }, () => accept({ token }, guest.token)))).map(outcome);
    expect(outcomes.filter((one) => one === "200")).toHaveLength(1);
    expect(new Set(outcomes)).toEqual(new Set(["200", "400 invitation_expired"]));
  });

  it("an address is not invited again while its invitation is being accepted", async () => {
    const guest = await founder(app);
    const { token } = await invite(app, owner, guest.email);

    const answers = await sendInTurn(
      app.databaseUrl,
      // The acceptance has used the invitation up by then, and comes to its session.
      ["lock table refresh_tokens in share mode"],
      () => accept({ token }, guest.token),
      async () => (await invite(app, owner, guest.email)).answer,
    );

    expect(answers.map(outcome)).toEqual(["200", "409 email_taken"]);
  });

  it("a member who accepts gets 409", async () => {
    const someone = await member(app, owner);
    expect(outcome((await invite(app, owner, someone.email)).answer)).toBe("409 email_taken");
  });
});
