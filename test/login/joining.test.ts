import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { codeAt } from "../mfa/support.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { auditOf, founder, invite, mailsTo, member, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let host: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1", SERVICE_MAGIC_LINK_DEV_ECHO: "1" } });
  host = await founder(app, "Host <b>& Sons");
  await admits(["people.test", "jit.test"]);
});
afterAll(() => app.close());

const post = (path: string, body: unknown, token?: string) => app.call("POST", path, { body, token });
const me = async (token: string) => (await app.call("GET", "/api/auth/me", { token })).body;
const orgOf = async (answer: { body: { access_token: string } }) =>
  (await me(answer.body.access_token)).org_uuid as string | null;

async function admits(domains: string[]): Promise<void> {
  const { status } = await app.call("PATCH", `/api/organizations/${host.org}`, {
    token: host.token,
    body: { jit_domains: domains },
  });
  expect(status).toBe(200);
}

/** Requests a link; returns its mail and the response to opening it. */
async function link(email: string, extra: object = { org_uuid: host.org }) {
  const sent = await post("/api/auth/magic-link/send", { email, ...extra });
  expect(sent.status).toBe(200);
  return {
    mail: (await mailsTo(app, email)).at(-1)!,
    open: () => post("/api/auth/magic-link/verify", { token: sent.body.dev_token }),
  };
}

/** Mails without what differs from link to link. */
const bare = ({ text, subject }: { text: string; subject: string }): string =>
  `${subject}\n${text.replaceAll(/token=[\w-]+/gu, "")}`;

describe("a link that joins an organization", () => {
  it("the mail of a joining link names the organization and says that the link joins it", async () => {
    const { mail, open } = await link("new@jit.test");
    expect(mail.subject).toBe("Sign in to Host <b>& Sons and join it");
    expect(mail.text).toContain("The link also joins Host <b>& Sons");
    expect(mail.html).toContain("Host &lt;b&gt;&amp; Sons");
    expect(mail.html).not.toContain("<b>");
    expect(await orgOf(await open())).toBe(host.org);
    const again = await link("new@jit.test");
    expect(again.mail.subject).toBe("Sign in to Host <b>& Sons");
    expect(again.mail.text).not.toContain("joins");
  });

  it("a link does not join when the mail domain was admitted only after the mail", async () => {
    const { mail, open } = await link("early@late.test");
    expect(mail.text).not.toContain("Host");
    await admits(["people.test", "jit.test", "late.test"]);
    expect(await orgOf(await open())).toBeNull();
  });

  it("a link does not join when the mail domain is no longer admitted", async () => {
    const { mail, open } = await link("gone@late.test");
    expect(mail.text).toContain("also joins");
    await admits(["people.test", "jit.test"]);
    expect(await orgOf(await open())).toBeNull();
  });

  it("a link that cannot join is mailed as one without organization, also to former members", async () => {
    const [inactive, removed, elsewhere] = [await member(app, host), await member(app, host), await founder(app)];
    await app.call("PATCH", `/api/users/${inactive.userUuid}`, { token: host.token, body: { status: "inactive" } });
    await app.call("DELETE", `/api/users/${removed.userUuid}`, { token: host.token });
    for (const email of [inactive.email, removed.email, "unknown@outside.test"]) {
      const [named, plain] = [await link(email), await link(email, {})];
      expect(bare(named.mail)).toBe(bare(plain.mail));
      expect(bare(named.mail)).not.toContain("Host");
      expect(await orgOf(await named.open())).toBeNull();
    }
    const [named, plain] = [
      await link(elsewhere.email, { org_uuid: "00000000-0000-4000-8000-000000000000" }),
      await link(elsewhere.email, {}),
    ];
    expect(bare(named.mail)).toBe(bare(plain.mail));
    expect(plain.mail.subject).toBe(`Sign in to ${elsewhere.orgName}`);
  });

  it("a link joins only after the second factor of a person who has one", async () => {
    const who = await founder(app);
    const { body: factor } = await post("/api/v1/me/mfa/factors", { factor_type: "totp" }, who.token);
    await post(
      `/api/v1/me/mfa/factors/${factor.data.id}/verify`,
      { code: codeAt(factor.data.secret, app.clock.now()) },
      who.token,
    );
    app.clock.advance(30_000);
    const { mail, open } = await link(who.email);
    expect(mail.text).toContain("also joins");
    const opened = await open();
    expect(opened.body).toMatchObject({ mfa_required: true });
    const { body: before } = await app.call("GET", `/api/users?email=${who.email}`, { token: host.token });
    expect(before.data).toEqual([]);
    const passed = await post("/api/auth/mfa/totp/challenge", {
      mfa_token: opened.body.mfa_token,
      code: codeAt(factor.data.secret, app.clock.now()),
    });
    expect(await orgOf(passed)).toBe(host.org);
    expect((await auditOf(app, host, "user.joined"))[0]).toMatchObject({
      resource_id: who.userUuid,
      metadata: { method: "magic_link" },
    });
  });

  it("links and codes take the name of the organization too; an unknown name is ignored", async () => {
    const { mail, open } = await link("named@jit.test", { org_name: " host <B>& sons" });
    expect(mail.text).toContain("also joins");
    expect(await orgOf(await open())).toBe(host.org);

    const signedIn = await (await link("named@jit.test", {})).open();
    const own = await post("/api/organizations", { name: "Of Named" }, signedIn.body.access_token as string);
    expect(own.status).toBe(201);
    for (const [named, entered] of [
      ["Of Named", own.body.org_uuid],
      ["HOST <b>& Sons", host.org],
      ["Nobody's", host.org],
    ] as const) {
      await post("/api/auth/otp", { email: "named@jit.test" });
      const code = /^ {4}(\d{6})$/mu.exec((await mailsTo(app, "named@jit.test")).at(-1)?.text ?? "")?.[1];
      const answer = await post("/api/auth/otp/verify", { email: "named@jit.test", code, org_name: named });
      expect([named, await orgOf(answer)]).toEqual([named, entered]);
    }
    const unknown = await link("unnamed@jit.test", { org_name: "Nobody's" });
    expect(unknown.mail.text).not.toContain("Host");
    expect(await orgOf(await unknown.open())).toBeNull();
  });

  it("a mailed code never joins an organization", async () => {
    await post("/api/auth/otp", { email: "code@jit.test" });
    const code = /^ {4}(\d{6})$/mu.exec((await mailsTo(app, "code@jit.test")).at(-1)?.text ?? "")?.[1];
    expect(
      await orgOf(await post("/api/auth/otp/verify", { email: "code@jit.test", code, org_uuid: host.org })),
    ).toBeNull();
  });
});

describe("the organization a mail names", () => {
  it("codes, resets and step-ups name the organization they concern, else the one last used", async () => {
    const who = await founder(app, "Pretty Org");
    await post("/api/auth/otp", { email: who.email });
    await post("/api/auth/password/forgot", { email: who.email });
    await post("/api/auth/step-up/challenge", { method: "magic_link" }, who.token);
    const mails = await mailsTo(app, who.email);
    expect(mails).toHaveLength(4);
    for (const { text, html } of mails) {
      expect(text).toMatch(/-- \nPretty Org\n$/u);
      expect(html).toContain("Pretty Org");
    }
    await post("/api/auth/otp", { email: "nobody@mail.test" });
    expect((await mailsTo(app, "nobody@mail.test")).at(-1)?.text).toMatch(/-- \nAtrium\n$/u);
  });
});

describe("leaving an organization", () => {
  const leave = (who: Pick<Somebody, "userUuid" | "token">, of = who) =>
    app.call("DELETE", `/api/users/${of.userUuid}`, { token: who.token });

  it.each([
    [1, "admin"],
    [2, "manager"],
    [3, "employee"],
    [4, "observer"],
    [5, "limited_access"],
  ])("a member with role %i (%s) can leave the organization", async (roleId) => {
    const who = await member(app, host, roleId);
    expect(outcome(await leave(who))).toBe("204");
    expect(outcome(await app.call("GET", "/api/auth/me", { token: who.token }))).toBe("401 unauthorized");
    expect((await auditOf(app, host, "user.removed"))[0]).toMatchObject({
      resource_id: who.userUuid,
      actor: { id: who.userUuid },
    });
  });

  it("a member who joined by a link and an owner beside another can leave, the last owner cannot", async () => {
    const { open } = await link("leaver@jit.test");
    const { body } = await open();
    expect(outcome(await leave({ userUuid: body.user.user_uuid, token: body.access_token }))).toBe("204");
    const owner = await founder(app);
    await member(app, owner, 1);
    expect(outcome(await leave(owner))).toBe("409 last_owner");
  });

  it("a request to leave never removes another member", async () => {
    const [who, other] = [await member(app, host), await member(app, host)];
    expect(outcome(await leave(who, other))).toBe("403 forbidden");
    expect(outcome(await app.call("DELETE", `/api/users/${who.userUuid}`, {}))).toBe("401 unauthorized");
    expect(
      outcome(
        await app.call("PATCH", `/api/users/${who.userUuid}`, { token: who.token, body: { status: "inactive" } }),
      ),
    ).toBe("403 forbidden");
    const upper = await app.call("DELETE", `/api/users/${who.userUuid.toUpperCase()}`, { token: who.token });
    expect(outcome(upper)).toBe("204");
  });

  it("a member can leave over Connect", async () => {
    const who = await member(app, host, 4);
    const other = await member(app, host, 4);
    const call = (userUuid: string) =>
      app.call("POST", "/atrium.users.v1.UsersService/DeleteUser", { token: who.token, body: { user_uuid: userUuid } });
    expect((await call(other.userUuid)).status).toBe(403);
    expect((await call(who.userUuid)).status).toBe(200);
    expect((await invite(app, host, who.email)).answer.status).toBe(201);
  });
});
