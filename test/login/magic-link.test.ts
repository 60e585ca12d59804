import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { decodeJwt } from "jose";
import { openIdentity, opened } from "../support/identity.ts";
import type { Identity } from "../support/identity.ts";

let identity: Identity;
let org: string;
beforeAll(async () => {
  identity = await openIdentity();
  await identity.login.bootstrap(identity.owner);
  const caller = await identity.me((await identity.loginOwner()).accessToken);
  org = caller.orgUuid ?? "";
});
afterAll(() => identity.close());
beforeEach(() => identity.sql("update organizations set jit_domains = '{}' where uuid = $1", [org]));

async function link(request: { email: string; orgUuid?: string; redirectTo?: string }): Promise<string> {
  const { devToken } = await identity.login.magicLink.send(identity.anonymous(), request);
  return devToken ?? "";
}

const verify = async (token: string) => opened(await identity.login.magicLink.verify(identity.anonymous(), token));
const unauthorized = { status: 401, code: "unauthorized" };

describe("magic link", () => {
  it("a mailed link signs in once", async () => {
    const sent = await identity.login.magicLink.send(identity.anonymous(), {
      email: "owner@ACME.test",
      redirectTo: "https://app.test/x",
    });
    expect(sent.expiresInSeconds).toBe(900);
    const mail = (await identity.mails()).at(-1);
    expect(mail?.to).toBe("owner@acme.test");
    expect(mail?.text).toContain(`http://localhost:8080/magic-link#token=${sent.devToken}`);
    const signedIn = await verify(sent.devToken ?? "");
    expect(signedIn).toMatchObject({
      tokenType: "Bearer",
      expiresIn: 86_400,
      redirectTo: "https://app.test/x",
      user: { email: "owner@acme.test" },
    });
    expect(await identity.me(signedIn.accessToken)).toMatchObject({ orgUuid: org, isOwner: true });
    await expect(verify(sent.devToken ?? "")).rejects.toMatchObject(unauthorized);
  });

  it("a link is stored hashed, and sealed in the outbox", async () => {
    const token = await link({ email: "hidden@acme.test" });
    const stored = await identity.sql<{ all: string }>(
      `select (select string_agg(m::text, '') from mail_tokens m)
         || (select string_agg(o::text, '') from outbox o) as all`,
    );
    expect(stored[0]?.all).not.toContain(token);
    expect(stored[0]?.all).not.toContain("Sign in to");
  });

  it("one of fifty parallel uses of a link on two instances succeeds", async () => {
    const token = await link({ email: "race@acme.test" });
    const other = identity.another();
    const uses = Array.from({ length: 50 }, (_, at) =>
      (at % 2 === 0 ? identity : other).login.magicLink.verify(identity.anonymous(), token),
    );
    const settled = await Promise.allSettled(uses);
    expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const use of settled) if (use.status === "rejected") expect(use.reason).toMatchObject(unauthorized);
    expect(
      await identity.sql(
        "select 1 from sessions s join people p on p.uuid = s.user_uuid where p.email_key = 'race@acme.test'",
      ),
    ).toHaveLength(1);
  });

  it("two links to a new address opened at once create one person", async () => {
    const tokens = await Promise.all([1, 2].map(() => link({ email: "twice@new.test" })));
    const [first, second] = await Promise.all(tokens.map(verify));
    expect(first?.user.userUuid).toBe(second?.user.userUuid);
  });

  it("a link is refused after its expiry", async () => {
    const token = await link({ email: "late@acme.test" });
    identity.clock.advance(900_000);
    await expect(verify(token)).rejects.toMatchObject(unauthorized);
  });

  it("a person without membership gets a token without organization", async () => {
    const signedIn = await verify(await link({ email: "free@nowhere.test" }));
    expect(decodeJwt(signedIn.accessToken)).toMatchObject({ org: "", aud: "", roles: [], entitlements: [] });
    expect(await identity.me(signedIn.accessToken)).toMatchObject({
      orgUuid: null,
      orgName: null,
      isAdmin: false,
      email: "free@nowhere.test",
    });
  });

  it("a link to an invalid address is refused", async () => {
    await expect(identity.login.magicLink.send(identity.anonymous(), { email: "a@b, c@d" })).rejects.toMatchObject({
      status: 400,
      code: "bad_request",
    });
  });

  it("a confirmation token does not sign in", async () => {
    await identity.login.signUp.signUp(identity.context(undefined), {
      name: "Purpose",
      email: "p@purpose.test",
      password: "correct horse 2",
      firstName: "Ann",
    });
    const token = /token=([\w-]+)/u.exec((await identity.mails()).at(-1)?.text ?? "")?.[1] ?? "";
    await expect(verify(token)).rejects.toMatchObject(unauthorized);
    await expect(identity.login.signUp.confirmEmail(identity.anonymous(), token)).resolves.toBeUndefined();
    await expect(identity.login.signUp.confirmEmail(identity.anonymous(), token)).rejects.toMatchObject(unauthorized);
  });
});

describe("joining by magic link", () => {
  it("a link joins an organization that admits the mail domain, as employee", async () => {
    await identity.sql("update organizations set jit_domains = '{acme.test}' where uuid = $1", [org]);
    const signedIn = await verify(await link({ email: "new@acme.test", orgUuid: org }));
    expect(await identity.me(signedIn.accessToken)).toMatchObject({
      orgUuid: org,
      roles: ["employee"],
      isAdmin: false,
      isOwner: false,
    });
  });

  it.each([
    ["no domain is admitted", "{}"],
    ["another domain is admitted", "{sub.acme.test,other.test}"],
  ])("a link does not join when %s, with the same response", async (_what, domains) => {
    await identity.sql("update organizations set jit_domains = $2 where uuid = $1", [org, domains]);
    const email = `outside${domains.length}@acme.test`;
    expect((await identity.me((await verify(await link({ email, orgUuid: org }))).accessToken)).orgUuid).toBeNull();
  });

  it("a link does not join an unknown organization", async () => {
    expect(
      (await identity.me((await verify(await link({ email: "lost@acme.test", orgUuid: randomUUID() }))).accessToken))
        .orgUuid,
    ).toBeNull();
  });

  it("a link does not reactivate an inactive member", async () => {
    await identity.sql("update organizations set jit_domains = '{acme.test}' where uuid = $1", [org]);
    const { user } = await verify(await link({ email: "gone@acme.test", orgUuid: org }));
    await identity.sql("update memberships set status = 'inactive' where user_uuid = $1", [user.userUuid]);
    expect(
      (await identity.me((await verify(await link({ email: "gone@acme.test", orgUuid: org }))).accessToken)).orgUuid,
    ).toBeNull();
  });
});

describe("a mailbox proven for the first time", () => {
  const request = { name: "Squatted", email: "victim@mail.test", password: "set by a stranger", firstName: "Ann" };

  it("the first proof of a mailbox ends the password and the sessions of an unproven sign-up", async () => {
    const stranger = await identity.login.signUp.signUp(identity.context(undefined), request);
    await identity.me(stranger.accessToken);
    const victim = await verify(await link({ email: request.email }));
    await expect(identity.me(stranger.accessToken)).rejects.toMatchObject(unauthorized);
    await expect(identity.sessions.refresh(identity.anonymous(), stranger.refreshToken)).rejects.toMatchObject(
      unauthorized,
    );
    await expect(
      identity.login.password.login(identity.anonymous(), { ...request, orgName: request.name }),
    ).rejects.toMatchObject(unauthorized);
    expect(await identity.me(victim.accessToken)).toMatchObject({ email: request.email });
  });

  it("a further proof of a mailbox does not change a confirmed account", async () => {
    const person = { name: "Confirmed", email: "sure@mail.test", password: "set by themselves", firstName: "Ann" };
    const { accessToken } = await identity.login.signUp.signUp(identity.context(undefined), person);
    await identity.login.signUp.confirmEmail(
      identity.anonymous(),
      /token=([\w-]+)/u.exec((await identity.mails()).at(-1)?.text ?? "")?.[1] ?? "",
    );
    await verify(await link({ email: person.email }));
    await expect(identity.me(accessToken)).resolves.toBeDefined();
    await expect(
      identity.login.password.login(identity.anonymous(), { ...person, orgName: person.name }),
    ).resolves.toBeDefined();
  });
});
