import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { argon2id, hash } from "argon2";
import { decodeJwt, decodeProtectedHeader } from "jose";
import { openIdentity } from "../support/identity.ts";
import type { Identity } from "../support/identity.ts";

let identity: Identity;
beforeAll(async () => {
  identity = await openIdentity();
});
afterAll(() => identity.close());

describe("first start", () => {
  it("several instances that start at once create one organization and owner", async () => {
    expect(await identity.login.isEmpty()).toBe(true);
    const made = await Promise.all([1, 2, 3].map(() => identity.another().login.bootstrap(identity.owner)));
    expect(made.filter(Boolean)).toHaveLength(1);
    expect(await identity.login.bootstrap(identity.owner)).toBe(false);
    expect(await identity.sql("select 1 from organizations")).toHaveLength(1);
  });

  it("the first owner has every power", async () => {
    const { accessToken } = await identity.loginOwner();
    expect(await identity.me(accessToken)).toMatchObject({
      email: "owner@acme.test",
      orgName: "Acme",
      roles: ["admin"],
      isOwner: true,
      isAdmin: true,
      isPlatformAdmin: true,
      isSuperuser: true,
      isOperator: true,
      canWriteVault: true,
      elevated: false,
    });
  });
});

describe("password login", () => {
  it("a login returns tokens with the documented claims", async () => {
    const signedIn = await identity.loginOwner();
    expect(signedIn).toMatchObject({ tokenType: "Bearer", expiresIn: 900, user: { email: "owner@acme.test" } });
    expect(signedIn.user.id).toBeGreaterThan(0);
    const caller = await identity.me(signedIn.accessToken);
    const { kid, ...header } = decodeProtectedHeader(signedIn.accessToken);
    expect(header).toEqual({ alg: "EdDSA", typ: "at+jwt" });
    expect((await identity.keys.jwks.ofOrganization(caller.orgUuid ?? "")).keys[0]?.kid).toBe(kid);
    expect(decodeJwt(signedIn.accessToken)).toMatchObject({
      sub: caller.userUuid,
      org: caller.orgUuid,
      aud: "Acme",
      scope: [],
      iss: "http://localhost:8080",
      roles: ["admin"],
      entitlements: ["marketplace"],
      app_admin: [],
      platform_admin: true,
      sandbox: false,
      sid: signedIn.sessionId,
      amr: ["pwd"],
    });
  });

  it("a login compares organization name and email in their folded form", async () => {
    const request = { email: " OWNER@Acme.TEST ", password: identity.owner.password, orgName: "ａｃｍｅ" };
    await expect(identity.login.password.login(identity.anonymous(), request)).resolves.toBeDefined();
  });

  it.each([
    ["a wrong password", { password: "wrong" }],
    ["an unknown person", { email: "nobody@acme.test" }],
    ["an address that is none", { email: "not an address" }],
    ["an unknown organization", { orgName: "Nowhere" }],
  ])("a login with %s is refused with the same response", async (_what, change) => {
    const { email, password, orgName } = { ...identity.owner, ...change };
    const refused = identity.login.password.login(identity.anonymous(), { email, password, orgName });
    await expect(refused).rejects.toMatchObject({
      status: 401,
      code: "unauthorized",
      message: "Email, password or organization is wrong.",
    });
  });

  it("a login of a person who is not a member is refused", async () => {
    await identity.login.signUp.signUp(identity.context(undefined), {
      name: "Other",
      email: "o@other.test",
      password: "correct horse 2",
      firstName: "Ann",
    });
    const request = { email: "o@other.test", password: "correct horse 2", orgName: "Acme" };
    await expect(identity.login.password.login(identity.anonymous(), request)).rejects.toMatchObject({ status: 401 });
  });

  it("a login stores a stronger hash when the parameters have grown", async () => {
    const weak = await hash(identity.owner.password, { type: argon2id, memoryCost: 512, timeCost: 1, parallelism: 1 });
    await identity.sql("update people set password_hash = $1 where email_key = 'owner@acme.test'", [weak]);
    await identity.loginOwner();
    const [row] = await identity.sql<{ password_hash: string }>(
      "select password_hash from people where email_key = 'owner@acme.test'",
    );
    expect(row?.password_hash).toContain("m=1024");
    await expect(identity.loginOwner()).resolves.toBeDefined();
  });
});
