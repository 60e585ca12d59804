import { generateKeyPairSync } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decodeJwt, SignJWT, UnsecuredJWT } from "jose";
import { openIdentity, opened } from "../support/identity.ts";
import type { Identity } from "../support/identity.ts";

let identity: Identity;
beforeAll(async () => {
  identity = await openIdentity();
  await identity.login.bootstrap(identity.owner);
});
afterAll(() => identity.close());

const unauthorized = { status: 401, code: "unauthorized" };

describe("an access token", () => {
  it("an access token is refused on every instance once its session has ended", async () => {
    const other = identity.another();
    for (let round = 0; round < 50; round++) {
      const { accessToken } = await identity.loginOwner();
      const caller = await other.me(accessToken);
      await identity.sessions.own.logout(identity.context(caller));
      await expect(other.me(accessToken)).rejects.toMatchObject(unauthorized);
      await expect(identity.me(accessToken)).rejects.toMatchObject(unauthorized);
    }
  });

  it.each([
    ["an access token", 1],
    ["an access token that is used often", 3],
  ])("%s is valid until its expiry", async (_which, uses) => {
    const { accessToken } = await identity.loginOwner();
    identity.clock.advance(899_000);
    for (let use = 0; use < uses; use++) await expect(identity.me(accessToken)).resolves.toBeDefined();
    identity.clock.advance(1_000);
    await expect(identity.me(accessToken)).rejects.toMatchObject(unauthorized);
  });

  it.each([
    ["the role changes", "update memberships set role_id = 2, version = version + 1"],
    ["the membership ends", "update memberships set status = 'inactive'"],
    ["the organization is deleted", "update organizations set deleted_at = now()"],
    ["its key is deleted", "delete from signing_keys"],
    ["its key's overlap has ended", "update signing_keys set active = false, valid_until = '2000-01-01'"],
  ])("an access token is refused when %s", async (what, change) => {
    const name = `Stop ${what}`;
    const made = await identity.login.signUp.signUp(identity.context(undefined), {
      name,
      email: `${what.replaceAll(/\W/gu, "")}@stop.test`,
      password: "a long enough one",
      firstName: "Ann",
    });
    await expect(identity.me(made.accessToken)).resolves.toBeDefined();
    const column = change.includes("organizations") ? "uuid" : "org_uuid";
    await identity.sql(`${change} where ${column} = $1`, [made.org.uuid]);
    await expect(identity.me(made.accessToken)).rejects.toMatchObject(unauthorized);
  });

  it("a forged access token is refused", async () => {
    const { accessToken } = await identity.loginOwner();
    const claims = decodeJwt(accessToken);
    const [head, body, signature] = accessToken.split(".") as [string, string, string];
    const { privateKey } = generateKeyPairSync("ed25519");
    const kid = (JSON.parse(Buffer.from(head, "base64url").toString()) as { kid: string }).kid;
    const forged = (header: object, key = privateKey): Promise<string> =>
      new SignJWT(claims).setProtectedHeader({ alg: "EdDSA", typ: "at+jwt", kid, ...header }).sign(key);
    const stranger = await identity.login.signUp.signUp(identity.context(undefined), {
      name: "Strangers",
      email: "s@strangers.test",
      password: "a long enough one",
      firstName: "Ann",
    });
    const bad = [
      "",
      "x",
      "a.b.c",
      `${head}.${body}.`,
      `${head}.${body}.${signature.slice(2)}AA`,
      `${accessToken}.`,
      new UnsecuredJWT(claims).encode(),
      await forged({}),
      await forged({ typ: "JWT" }),
      await forged({ kid: "other" }),
      await forged({ jku: "https://evil.test/jwks" }),
      await new SignJWT(claims)
        .setProtectedHeader({ alg: "HS256", typ: "at+jwt", kid })
        .sign(Buffer.from("public key as secret")),
      `${head}.${stranger.accessToken.split(".")[1]}.${signature}`,
    ];
    for (const token of bad) await expect(identity.me(token), token).rejects.toMatchObject(unauthorized);
  });

  it("another body with the signature of a token that is in use is refused", async () => {
    const { accessToken } = await identity.loginOwner();
    for (let use = 0; use < 3; use++) await identity.me(accessToken);
    const [head, , signature] = accessToken.split(".") as [string, string, string];
    const body = Buffer.from(JSON.stringify({ ...decodeJwt(accessToken), roles: [] })).toString("base64url");
    await expect(identity.me(`${head}.${body}.${signature}`)).rejects.toMatchObject(unauthorized);
    await expect(identity.me(accessToken)).resolves.toBeDefined();
  });

  it.each([
    ["is_operator", "isOperator"],
    ["is_superuser", "isSuperuser"],
  ] as const)("a token that is in use has the power of %s no longer than its person", async (column, power) => {
    const { accessToken } = await identity.loginOwner();
    for (const has of [true, false, true]) {
      await identity.sql(`update people set ${column} = $1 where email = $2`, [has, identity.owner.email]);
      for (let use = 0; use < 3; use++) expect((await identity.me(accessToken))[power]).toBe(has);
    }
  });

  it("an access token loses claims on apps whose key was rotated, and nothing else", async () => {
    await identity.setOwnership(false);
    const [kept = "", lost = ""] = await identity.publishApps(2);
    const { accessToken } = await identity.loginOwner();
    expect((await identity.me(accessToken)).appAdmin).toEqual([kept, lost]);
    await identity.sql("update apps set key_rotated_at = $2 where app_id = $1", [lost, new Date(identity.clock.now())]);
    expect(await identity.me(accessToken)).toMatchObject({ appAdmin: [kept], isAdmin: true });
    await identity.setOwnership(true);
  });

  it("a new name of person or organization shows at once", async () => {
    const { accessToken } = await identity.loginOwner();
    await identity.sql("update organizations set name = 'Acme Ltd' where name = 'Acme'");
    expect((await identity.me(accessToken)).orgName).toBe("Acme Ltd");
    await identity.sql("update organizations set name = 'Acme' where name = 'Acme Ltd'");
  });

  it("many concurrent checks need few queries", async () => {
    const tokens = await Promise.all([1, 2, 3].map(async () => (await identity.loginOwner()).accessToken));
    const callers = await Promise.all(Array.from({ length: 300 }, (_, at) => identity.me(tokens[at % 3] as string)));
    expect(new Set(callers.map((caller) => caller.sessionId)).size).toBe(3);
  });
});

describe("a person's sessions", () => {
  it("a person's sessions are listed with the present one marked, without ended ones", async () => {
    const made = await identity.login.signUp.signUp(identity.context(undefined), {
      name: "Lists",
      email: "l@lists.test",
      password: "a long enough one",
      firstName: "Ann",
    });
    const login = async () =>
      opened(
        await identity.login.password.login(identity.anonymous(), {
          email: "l@lists.test",
          password: "a long enough one",
          orgName: "Lists",
        }),
      );
    const [second, third] = [await login(), await login()];
    await identity.sessions.own.logout(identity.context(await identity.me(third.accessToken)));
    const caller = await identity.me(second.accessToken);
    const list = () => identity.sessions.own.list(identity.context(caller), { limit: 50, offset: 0 });
    const { data, total } = await list();
    expect(total).toBe(2);
    expect(data.map(({ uuid, current }) => [uuid, current]).sort()).toEqual(
      [
        [made.sessionId, false],
        [second.sessionId, true],
      ].sort(),
    );
    const expire = "update sessions set expires_at = $2 where uuid = $1";
    await identity.sql(expire, [made.sessionId, new Date(identity.clock.now())]);
    expect((await list()).data.map(({ uuid }) => uuid)).toEqual([second.sessionId]);
  });

  const lastSeen = async (sid: string): Promise<number> => {
    await identity.sessions.lastSeen.flush();
    const [row] = await identity.sql<{ last_seen_at: Date }>("select last_seen_at from sessions where uuid = $1", [
      sid,
    ]);
    return row?.last_seen_at.getTime() ?? 0;
  };

  it("the last use of a session is stored at most once a minute", async () => {
    const { accessToken, sessionId } = await identity.loginOwner();
    await identity.me(accessToken);
    const first = await lastSeen(sessionId);
    identity.clock.advance(59_000);
    await identity.me(accessToken);
    expect(await lastSeen(sessionId)).toBe(first);
    identity.clock.advance(2_000);
    await identity.me(accessToken);
    expect(await lastSeen(sessionId)).toBe(identity.clock.now());
  });

  it("the last use of a session is the time of its request, whenever it is stored", async () => {
    const [one, other] = [await identity.loginOwner(), await identity.loginOwner()];
    const use = async (accessToken: string): Promise<number> => {
      identity.clock.advance(1_000);
      await identity.me(accessToken);
      return identity.clock.now();
    };
    const times = [await use(one.accessToken), await use(other.accessToken)];
    identity.clock.advance(1_000);
    expect([await lastSeen(one.sessionId), await lastSeen(other.sessionId)]).toEqual(times);
  });
});
