import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openIdentity } from "../support/identity.ts";
import type { Identity } from "../support/identity.ts";
import type { Caller } from "../../src/platform/caller.ts";

let identity: Identity;
let closed: Identity;
beforeAll(async () => {
  [identity, closed] = await Promise.all([openIdentity(), openIdentity({ openSignup: false })]);
  await Promise.all([identity.login.bootstrap(identity.owner), closed.login.bootstrap(closed.owner)]);
});
afterAll(() => Promise.all([identity.close(), closed.close()]));

const password = "a long enough one";
const signUp = (
  request: { name: string; email?: string; password?: string; firstName?: string },
  caller?: Caller,
  on = identity,
) => on.login.signUp.signUp(on.context(caller), request);

describe("sign-up", () => {
  it("a sign-up creates an organization, its owner and a session, and mails a confirmation", async () => {
    const made = await signUp({ name: "  Globex  ", email: "ann@globex.test", password, firstName: "Ann" });
    expect(made).toMatchObject({ org: { name: "Globex" }, tokenType: "Bearer", expiresIn: 420 });
    const caller = await identity.me(made.accessToken);
    expect(caller).toMatchObject({
      orgUuid: made.org.uuid,
      userUuid: made.userUuid,
      isOwner: true,
      isPlatformAdmin: false,
      roles: ["admin"],
    });
    expect((await identity.mails()).at(-1)).toMatchObject({
      to: "ann@globex.test",
      subject: "Confirm your email address",
    });
    expect(await identity.users.profiles.find(identity.context(caller))).toMatchObject({
      firstName: "Ann",
      email: "ann@globex.test",
    });
    expect((await identity.keys.jwks.ofOrganization(made.org.uuid)).keys).toHaveLength(1);
  });

  it.each([
    ["the same name", "Globex"],
    ["another case", "gLOBEX"],
    ["a compatibility form", "Ｇｌｏｂｅｘ"],
  ])("a sign-up with %s returns 409", async (_what, name) => {
    await expect(signUp({ name, email: "other@globex.test", password, firstName: "Ann" })).rejects.toMatchObject({
      status: 409,
      code: "conflict",
    });
    expect(await identity.organizations.isNameAvailable(name)).toBe(false);
  });

  it("a sign-up with a known address is refused for any password, and stores nothing", async () => {
    await expect(
      signUp({ name: "Initech", email: "ANN@globex.test", password: "something else", firstName: "Ann" }),
    ).rejects.toMatchObject({ status: 409, code: "email_taken" });
    expect(await identity.organizations.isNameAvailable("Initech")).toBe(true);
  });

  it.each([
    ["too short", "short", "too_short"],
    ["common", "password123", "too_common"],
    ["the address", "hooli@hooli.test", "equals_email"],
    ["the name", "Hooli Incorporated", "equals_organization"],
  ])("a sign-up refuses a password that is %s", async (_what, bad, code) => {
    const refused = signUp({ name: "Hooli Incorporated", email: "hooli@hooli.test", password: bad, firstName: "Ann" });
    await expect(refused).rejects.toMatchObject({
      status: 400,
      code: "validation_error",
      fields: [{ field: "password", code }],
    });
  });

  it("a sign-up returns 400 with the missing fields", async () => {
    await expect(signUp({ name: "Empty" })).rejects.toMatchObject({
      status: 400,
      fields: [{ field: "email" }, { field: "password" }, { field: "first_name" }],
    });
  });

  it("one of many concurrent sign-ups with one name succeeds", async () => {
    const wanted = Array.from({ length: 8 }, (_, at) =>
      signUp({ name: "Race", email: `r${at}@race.test`, password, firstName: "Ann" }),
    );
    const settled = await Promise.allSettled(wanted);
    expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  it.each([
    ["Straße 7", "STRASSE 7"],
    ["Straße 8", "STRAẞE 8"],
    ["ΟΔΟΣ", "οδος"],
    ["ﬁne ①", " FINE 1 "],
    ["Ｗide", "wide"],
  ])("a sign-up treats %s and %s as one name", async (first, second) => {
    await signUp({ name: first, email: `${Buffer.from(first).toString("hex")}@fold.test`, password, firstName: "Ann" });
    expect(await identity.organizations.isNameAvailable(second)).toBe(false);
    await expect(signUp({ name: second, email: "second@fold.test", password, firstName: "Ann" })).rejects.toMatchObject(
      { status: 409, code: "conflict" },
    );
  });

  it("a signed-in person creates a further organization without a password", async () => {
    const first = await signUp({ name: "First", email: "two@organizations.test", password, firstName: "Ann" });
    const second = await signUp({ name: "Second" }, await identity.me(first.accessToken));
    expect(second.userUuid).toBe(first.userUuid);
    const caller = await identity.me(second.accessToken);
    expect(caller).toMatchObject({ orgName: "Second", isOwner: true, claims: { amr: ["pwd"] } });
    expect((await identity.users.organizations.list(identity.context(caller))).map(({ name }) => name)).toEqual([
      "First",
      "Second",
    ]);
    await expect(identity.me(first.accessToken)).resolves.toMatchObject({ orgName: "First" });
  });

  it("a sign-up creates nothing when the caller's session ends during the request", async () => {
    const first = await signUp({ name: "Ending", email: "ending@own.test", password, firstName: "Ann" });
    const caller = await identity.me(first.accessToken);
    await identity.sessions.own.logout(identity.context(caller));
    await expect(signUp({ name: "Too late" }, caller)).rejects.toMatchObject({ status: 401 });
    await expect(
      signUp({ name: "Too late", email: "new@own.test", password, firstName: "Ann" }),
    ).resolves.toBeDefined();
  });
});

describe("closed sign-up", () => {
  it("closed sign-up admits platform admins, for themselves or for a new owner", async () => {
    const request = { name: "Closed", email: "c@closed.test", password, firstName: "Ann" };
    await expect(signUp(request, undefined, closed)).rejects.toMatchObject({ status: 403, code: "forbidden" });
    const admin = await closed.me((await closed.loginOwner()).accessToken);
    const own = await signUp({ name: "Own" }, admin, closed);
    expect(own.userUuid).toBe(admin.userUuid);
    const made = await signUp(request, admin, closed);
    expect(made.userUuid).not.toBe(admin.userUuid);
    const member = await closed.me(made.accessToken);
    expect(member).toMatchObject({ email: "c@closed.test", isPlatformAdmin: false });
    await expect(signUp({ name: "More" }, member, closed)).rejects.toMatchObject({ status: 403 });
  });
});

describe("people", () => {
  it("a person is superuser or not, and an unknown one is 404", async () => {
    expect(await identity.people.superuser("OWNER@acme.test")).toEqual({
      email: "owner@acme.test",
      isSuperuser: true,
    });
    await expect(identity.people.superuser("who@acme.test")).rejects.toMatchObject({ status: 404 });
  });

  it("a person changes their profile", async () => {
    const caller = await identity.me((await identity.loginOwner()).accessToken);
    await identity.users.profiles.update(identity.context(caller), { firstName: "Olga", phone: "+4915112345678" });
    expect(await identity.users.profiles.find(identity.context(caller))).toMatchObject({
      firstName: "Olga",
      phone: "+4915112345678",
    });
    await expect(identity.users.profiles.update(identity.context(caller), { phone: "0151" })).rejects.toMatchObject({
      status: 400,
      code: "invalid_phone",
    });
  });
});
