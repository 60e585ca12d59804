import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decodeJwt } from "jose";
import { createSecondFactorLogin } from "../../src/domains/login/second-factor.ts";
import { info, openIdentity, opened } from "../support/identity.ts";
import type { Identity } from "../support/identity.ts";
import { codeAt, ending, endings, enrolled, eventsOf, wrongCode } from "./support.ts";

let identity: Identity;
beforeAll(async () => {
  identity = await openIdentity();
});
afterAll(() => identity.close());

const challenge = (mfaToken: string, code: string, from = info) =>
  identity.login.completeSignIn(identity.anonymous(from), { mfaToken, code });

describe("a sign-in with a second factor", () => {
  it("a login asks a person with a factor for it without a token, and the challenge returns the pair", async () => {
    const person = await enrolled(identity);
    const answer = await identity.login.password.login(identity.anonymous(), person);
    expect(Object.keys(answer)).toEqual(["mfaRequired", "mfaToken"]);
    expect(await identity.sql("select 1 from sessions where user_uuid = $1", [person.caller.userUuid])).toHaveLength(1);
    const pair = await challenge("mfaToken" in answer ? answer.mfaToken : "", person.fresh());
    expect(pair).toMatchObject({ tokenType: "Bearer", expiresIn: 420 });
    expect(decodeJwt(pair.accessToken)).toMatchObject({ org: person.caller.orgUuid, amr: ["pwd", "otp", "mfa"] });
    expect(await identity.me(pair.accessToken)).toMatchObject({ userUuid: person.caller.userUuid, elevated: false });
    expect(await ending(identity.sessions.refresh(identity.anonymous(), pair.refreshToken))).toBe("ok");
    expect(await eventsOf(identity, person.caller.userUuid, "login.%")).toEqual([
      "login.password success",
      "login.totp_verify success",
    ]);
  });

  it("a magic link asks for the factor too, and is used up", async () => {
    const person = await enrolled(identity);
    const { devToken = "" } = await identity.login.magicLink.send(identity.anonymous(), {
      email: person.email,
      redirectTo: "https://app.test/x",
    });
    const answer = await identity.login.magicLink.verify(identity.anonymous(), devToken);
    expect(answer).toMatchObject({ mfaRequired: true, redirectTo: "https://app.test/x" });
    expect(Object.keys(answer).sort()).toEqual(["mfaRequired", "mfaToken", "redirectTo"]);
    expect(await ending(identity.login.magicLink.verify(identity.anonymous(), devToken))).toBe("401 unauthorized");
    const pair = await challenge("mfaToken" in answer ? answer.mfaToken : "", person.fresh());
    expect(decodeJwt(pair.accessToken)).toMatchObject({ org: person.caller.orgUuid, amr: ["mail", "otp", "mfa"] });
  });

  it("a login does not ask for a removed factor, nor for a pending one", async () => {
    const person = await enrolled(identity);
    await identity.mfa.factors.remove(identity.context(person.caller), person.factorId);
    expect(opened(await identity.login.password.login(identity.anonymous(), person)).accessToken).toBeDefined();
    await identity.mfa.factors.create(identity.context(person.caller), undefined);
    expect(opened(await identity.login.password.login(identity.anonymous(), person)).accessToken).toBeDefined();
  });

  it("a magic link asks for the factor of an unconfirmed account, and ends its password and sessions", async () => {
    const squatter = await enrolled(identity);
    await identity.sql("update people set email_confirmed_at = null where uuid = $1", [squatter.caller.userUuid]);
    await identity.mfa.recoveryCodes.regenerate(identity.context(squatter.caller));
    const waiting = await squatter.pass();
    const { devToken = "" } = await identity.login.magicLink.send(identity.anonymous(), { email: squatter.email });
    const asked = await identity.login.magicLink.verify(identity.anonymous(), devToken);
    if (!("mfaRequired" in asked)) throw new Error("the factor is not asked for");
    expect(await ending(challenge(waiting, squatter.fresh()))).toBe("401 unauthorized");
    const confirmed = async () =>
      (
        await identity.sql<{ at: Date | null }>("select email_confirmed_at as at from people where uuid = $1", [
          squatter.caller.userUuid,
        ])
      )[0]?.at;
    expect(await confirmed()).toBeNull();
    const mine = await identity.me(
      (await identity.login.completeSignIn(identity.anonymous(), { mfaToken: asked.mfaToken, code: squatter.fresh() }))
        .accessToken,
    );
    expect(await confirmed()).not.toBeNull();
    expect(await identity.mfa.factors.list(identity.context(mine))).toMatchObject([
      { id: squatter.factorId, status: "active" },
    ]);
    expect(await identity.mfa.recoveryCodes.list(identity.context(mine))).toHaveLength(10);
    expect(await ending(identity.login.password.login(identity.anonymous(), squatter))).toBe("401 unauthorized");
    const told = "select distinct org_uuid from auth_events where user_uuid = $1 and type = 'session.bulk_revoked'";
    expect(await identity.sql(told, [mine.userUuid])).toEqual([{ org_uuid: squatter.caller.orgUuid }]);
  });

  it("a login concurrent with the activation of a factor opens no session after it", async () => {
    const person = await enrolled(identity);
    await identity.mfa.factors.remove(identity.context(person.caller), person.factorId);
    const { id, secret } = await identity.mfa.factors.create(identity.context(person.caller), undefined);
    const logins = Array.from({ length: 10 }, () => identity.login.password.login(identity.anonymous(), person));
    await Promise.all([
      ...logins,
      identity.mfa.factors.verify(identity.context(person.caller), id, codeAt(secret, identity.clock.now())),
    ]);
    expect(await identity.login.password.login(identity.anonymous(), person)).toHaveProperty("mfaRequired", true);
  });

  it("a stored step runs with the challenge and is rolled back with it", async () => {
    const person = await enrolled(identity);
    const seen: unknown[] = [];
    let refuse = true;
    const completeSignIn = createSecondFactorLogin(identity, {
      "test.join": {
        resume: async (_tx, userUuid, payload) => {
          seen.push([userUuid, payload]);
          if (refuse) throw new Error("not yet");
          return null;
        },
      },
    });
    const needed = await identity.database.transaction(async (tx) => {
      const standing = await identity.access.standing(tx, person.caller.userUuid ?? "", null);
      if (standing === undefined) throw new Error("nobody");
      return identity.mfa.requestSecondFactor(tx, {
        standing,
        amr: ["pwd"],
        info,
        next: { name: "test.join", payload: { invitation: 7 } },
      });
    });
    const [token, code] = [needed?.mfaToken ?? "", person.fresh()];
    const complete = () => completeSignIn(identity.anonymous(), { mfaToken: token, code });
    expect(await ending(complete())).toBe("not yet");
    refuse = false;
    expect(decodeJwt((await complete()).accessToken)).toMatchObject({ org: "" });
    expect(seen).toEqual([1, 2].map(() => [person.caller.userUuid, { invitation: 7 }]));
  });
});

describe("the device", () => {
  it.each([
    ["the challenge's", true, true, "second"],
    ["else the first step's", true, false, "first"],
    ["else a new one", false, false, "new"],
  ])("the device of the session is %s", async (_what, atFirst, atSecond, expected) => {
    const person = await enrolled(identity);
    const [first, second] = [randomUUID(), randomUUID()];
    const token = await person.pass({ ...info, deviceUuid: atFirst ? first : undefined });
    const { deviceUuid } = await challenge(token, person.fresh(), {
      ...info,
      deviceUuid: atSecond ? second : undefined,
    });
    expect(deviceUuid === first ? "first" : deviceUuid === second ? "second" : "new").toBe(expected);
  });
});

describe("an mfa_token", () => {
  it("an mfa_token is stored hashed, and one of fifty parallel uses succeeds", async () => {
    const person = await enrolled(identity);
    const token = await person.pass();
    const [stored] = await identity.sql<{ all: string }>("select string_agg(t::text, '') as all from mfa_tokens t");
    expect(stored?.all).not.toContain(token);
    const code = person.fresh();
    const other = identity.another();
    const all = await endings(
      Array.from({ length: 50 }, (_, at) =>
        (at % 2 === 0 ? identity : other).login.completeSignIn(identity.anonymous(), { mfaToken: token, code }),
      ),
    );
    expect(all.filter((one) => one === "ok")).toHaveLength(1);
    expect(all.filter((one) => one === "401 unauthorized")).toHaveLength(49);
    expect(await ending(challenge(token, person.fresh()))).toBe("401 unauthorized");
  });

  it("an mfa_token is refused after its expiry", async () => {
    const person = await enrolled(identity);
    const [early, late] = [await person.pass(), await person.pass()];
    identity.clock.advance(299_999);
    expect(await ending(challenge(early, codeAt(person.secret, identity.clock.now())))).toBe("ok");
    identity.clock.advance(1);
    expect(await ending(challenge(late, codeAt(person.secret, identity.clock.now(), 1)))).toBe("401 unauthorized");
  });

  it("an mfa_token ends with the fifth wrong code, and attempts on it are not counted then", async () => {
    const person = await enrolled(identity);
    const token = await person.pass();
    for (let at = 0; at < 5; at++)
      expect(await ending(challenge(token, wrongCode(person.secret, identity.clock.now())))).toBe("401 unauthorized");
    for (let at = 0; at < 20; at++) expect(await ending(challenge(token, person.fresh()))).toBe("401 unauthorized");
    expect(
      await identity.sql("select failures from mfa_failures where user_uuid = $1", [person.caller.userUuid]),
    ).toEqual([{ failures: 5 }]);
    expect(await ending(challenge(await person.pass(), person.fresh()))).toBe("ok");
  });

  it("an mfa_token ends with the password and with the membership it was issued for", async () => {
    const [changed, removed] = [await enrolled(identity), await enrolled(identity)];
    const tokens = [await changed.pass(), await removed.pass()];
    await identity.sql("update people set credentials_version = credentials_version + 1 where uuid = $1", [
      changed.caller.userUuid,
    ]);
    await identity.sql("update memberships set status = 'inactive' where user_uuid = $1", [removed.caller.userUuid]);
    expect(await ending(challenge(tokens[0] ?? "", changed.fresh()))).toBe("401 unauthorized");
    expect(await ending(challenge(tokens[1] ?? "", removed.fresh()))).toBe("401 unauthorized");
  });

  it("an unknown mfa_token is refused and recorded", async () => {
    expect(await ending(challenge("nonsense", "123456"))).toBe("401 unauthorized");
    const rows = await identity.sql(
      "select outcome, org_uuid, metadata from auth_events where type = 'login.totp_verify' and user_uuid is null",
    );
    expect(rows).toEqual([{ outcome: "failure", org_uuid: null, metadata: { code: "unauthorized" } }]);
  });

  it("a refused second factor is in the log of the organization that the sign-in would enter", async () => {
    const person = await enrolled(identity);
    const code = wrongCode(person.secret, identity.clock.now());
    for (const recovery of [false, true]) {
      const attempt = { mfaToken: await person.pass(), code, recovery };
      expect(await ending(identity.login.completeSignIn(identity.anonymous(), attempt))).toBe("401 unauthorized");
    }
    const refused = await identity.sql(
      `select type, org_uuid, metadata from auth_events
       where user_uuid = $1 and outcome = 'failure' order by sequence`,
      [person.caller.userUuid],
    );
    const rest = { org_uuid: person.caller.orgUuid, metadata: { code: "unauthorized" } };
    expect(refused).toEqual([
      { type: "login.totp_verify", ...rest },
      { type: "login.recovery_code", ...rest },
    ]);
  });

  it("a recovery code is a second factor, and no code of an authenticator", async () => {
    const person = await enrolled(identity);
    const [code = ""] = await identity.mfa.recoveryCodes.regenerate(identity.context(person.caller));
    const answer = { mfaToken: await person.pass(), code, recovery: true };
    const { accessToken } = opened(await identity.login.completeSignIn(identity.anonymous(), answer));
    expect(decodeJwt(accessToken)["amr"]).toEqual(["pwd", "mfa"]);
  });
});

describe("a code", () => {
  it("a code is valid once for challenge, step-up and factor verification, in every order", async () => {
    const person = await enrolled(identity);
    const caller = await person.login();
    const stepUp = async (code: string) => {
      const { challengeId } = await identity.stepUp.challenge(identity.context(caller), "totp");
      return identity.stepUp.verify(identity.context(caller), { challengeId, code });
    };
    const login = async (code: string) => challenge(await person.pass(), code);
    const first = person.fresh();
    expect(await ending(login(first))).toBe("ok");
    expect(await ending(stepUp(first))).toBe("400 invalid_code");
    const second = person.fresh();
    expect(await ending(stepUp(second))).toBe("ok");
    expect(await ending(login(second))).toBe("401 unauthorized");
    const made = await identity.mfa.factors.create(identity.context(caller), undefined);
    const third = codeAt(made.secret, identity.clock.now());
    await identity.mfa.factors.verify(identity.context(caller), made.id, third);
    expect(await ending(login(third))).toBe("401 unauthorized");
    expect(await ending(stepUp(third))).toBe("400 invalid_code");
  });

  it("a code is valid within one step of its time, and not at or before an accepted step", async () => {
    const person = await enrolled(identity);
    identity.clock.advance(300_000);
    const now = identity.clock.now();
    const use = async (steps: number) => ending(challenge(await person.pass(), codeAt(person.secret, now, steps)));
    expect(await use(-2)).toBe("401 unauthorized");
    expect(await use(2)).toBe("401 unauthorized");
    expect(await use(-1)).toBe("ok");
    expect(await use(1)).toBe("ok");
    expect(await use(0)).toBe("401 unauthorized");
  });

  it("a code is accepted once by fifty parallel logins and step-ups", async () => {
    const person = await enrolled(identity);
    const caller = await person.login();
    const tokens = await Promise.all(Array.from({ length: 25 }, () => person.pass()));
    const issued = await Promise.all(
      Array.from({ length: 25 }, () => identity.stepUp.challenge(identity.context(caller), "totp")),
    );
    const code = person.fresh();
    const other = identity.another();
    const all = await endings([
      ...tokens.map((mfaToken) => other.login.completeSignIn(identity.anonymous(), { mfaToken, code })),
      ...issued.map(({ challengeId }) => identity.stepUp.verify(identity.context(caller), { challengeId, code })),
    ]);
    expect(all.filter((one) => one === "ok")).toHaveLength(1);
  });
});
