import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { info, openIdentity } from "../support/identity.ts";
import type { Identity } from "../support/identity.ts";
import { codeAt, ending, endings, enrolled, eventsOf, somebody, wrongCode } from "./support.ts";

let identity: Identity;
beforeAll(async () => {
  identity = await openIdentity();
});
afterAll(() => identity.close());

describe("a factor", () => {
  it("is pending until its first code, with a secret authenticator apps read", async () => {
    const { caller, email } = await somebody(identity);
    const issuer = caller.orgName ?? "";
    const made = await identity.mfa.factors.create(caller, " my phone ");
    expect(made.secret).toMatch(/^[A-Z2-7]{32}$/u);
    const uri = new URL(made.otpauthUri);
    expect(uri.protocol + uri.host).toBe("otpauth:totp");
    expect(decodeURIComponent(uri.pathname)).toBe(`/${issuer}:${email} (my phone)`);
    expect(uri.searchParams.get("secret")).toBe(made.secret);
    expect(uri.searchParams.get("issuer")).toBe(issuer);
    expect(await identity.mfa.factors.list(caller)).toEqual([
      { id: made.id, factor_type: "totp", label: "my phone", status: "pending" },
    ]);
    expect(await identity.mfa.factors.status(caller)).toEqual({ hasActiveTotp: false, hasRecoveryCodes: false });
    expect(
      await ending(identity.mfa.factors.verify(caller, made.id, wrongCode(made.secret, identity.clock.now()), info)),
    ).toBe("401 unauthorized");
    await identity.mfa.factors.verify(caller, made.id, codeAt(made.secret, identity.clock.now()), info);
    expect(await identity.mfa.factors.status(caller)).toEqual({ hasActiveTotp: true, hasRecoveryCodes: false });
    expect(await ending(identity.mfa.factors.verify(caller, made.id, "123456", info))).toBe("404 not_found");
    expect(await eventsOf(identity, caller.userUuid, "mfa.%")).toEqual([
      "mfa.enrolled failure unauthorized",
      "mfa.enrolled success",
    ]);
  });

  it("is sealed at rest, and forgets its secret when it is deleted", async () => {
    const { caller, secret, factorId } = await enrolled(identity);
    const [row] = await identity.sql<{ secret: Buffer }>("select secret from mfa_factors where id = $1", [factorId]);
    expect(row?.secret.toString("latin1")).not.toContain(secret);
    await identity.mfa.factors.remove(caller, factorId, info);
    expect(await identity.sql("select status, secret from mfa_factors where id = $1", [factorId])).toEqual([
      { status: "disabled", secret: null },
    ]);
    expect(await identity.mfa.factors.list(caller)).toEqual([]);
    expect(await ending(identity.mfa.factors.remove(caller, factorId, info))).toBe("404 not_found");
    expect(await eventsOf(identity, caller.userUuid, "mfa.disabled")).toEqual(["mfa.disabled success"]);
  });

  it("is nobody else's, and no id is too large to be unknown", async () => {
    const [mine, theirs] = [await somebody(identity), await enrolled(identity)];
    for (const id of [theirs.factorId, 0, 4_294_967_295]) {
      expect(await ending(identity.mfa.factors.verify(mine.caller, id, "123456", info))).toBe("404 not_found");
      expect(await ending(identity.mfa.factors.remove(mine.caller, id, info))).toBe("404 not_found");
    }
    expect(await identity.mfa.factors.status(theirs.caller)).toMatchObject({ hasActiveTotp: true });
  });

  it("is activated once by fifty parallel codes", async () => {
    const { caller } = await somebody(identity);
    const { id, secret } = await identity.mfa.factors.create(caller, undefined);
    const other = identity.another();
    const code = codeAt(secret, identity.clock.now());
    const all = await endings(
      Array.from({ length: 50 }, (_, at) =>
        (at % 2 === 0 ? identity : other).mfa.factors.verify(caller, id, code, info),
      ),
    );
    expect(all.filter((one) => one === "ok")).toHaveLength(1);
    expect(all.filter((one) => one === "404 not_found")).toHaveLength(49);
  });

  it("may have company, each of which is asked", async () => {
    const person = await enrolled(identity);
    const { caller, fresh } = person;
    const second = await identity.mfa.factors.create(caller, "tablet");
    fresh();
    await identity.mfa.factors.verify(caller, second.id, codeAt(second.secret, identity.clock.now()), info);
    for (const secret of [person.secret, second.secret]) {
      identity.clock.advance(30_000);
      const code = codeAt(secret, identity.clock.now());
      expect(await ending(identity.mfa.challenge({ mfaToken: await person.pass(), code }, info))).toBe("ok");
    }
    await identity.mfa.factors.remove(caller, person.factorId, info);
    expect(await identity.mfa.factors.status(caller)).toMatchObject({ hasActiveTotp: true });
    expect(await ending(identity.mfa.challenge({ mfaToken: await person.pass(), code: person.fresh() }, info))).toBe(
      "401 unauthorized",
    );
  });

  it("has at most nine others", async () => {
    const { caller } = await somebody(identity);
    const all = await endings(Array.from({ length: 14 }, () => identity.mfa.factors.create(caller, undefined)));
    expect(all.filter((one) => one === "ok")).toHaveLength(10);
    expect(all.filter((one) => one === "422 unprocessable")).toHaveLength(4);
  });

  it("whose secret cannot be opened is an internal error, not a wrong code", async () => {
    const person = await enrolled(identity);
    await identity.sql("update mfa_factors set secret = 'x' where id = $1", [person.factorId]);
    await expect(identity.mfa.challenge({ mfaToken: await person.pass(), code: "123456" }, info)).rejects.toThrow(
      /sealed box/u,
    );
  });
});

describe("changing factors", () => {
  const calls = (who: Awaited<ReturnType<typeof enrolled>>, pending: number) => [
    () => identity.mfa.factors.create(who.caller, undefined),
    () => identity.mfa.factors.verify(who.caller, pending, "123456", info),
    () => identity.mfa.factors.remove(who.caller, who.factorId, info),
    () => identity.mfa.recoveryCodes.regenerate(who.caller, info),
  ];

  it("needs a proof in this very session, not a password and not another session's", async () => {
    const person = await enrolled(identity);
    const pending = await identity.mfa.factors.create(person.caller, undefined);
    identity.clock.advance(900_001);
    const elsewhere = await person.login();
    for (const call of calls(person, pending.id)) expect(await ending(call())).toBe("403 step_up_required");
    const { challengeId } = await identity.mfa.stepUp.challenge(person.caller, "password", info);
    await identity.mfa.stepUp.verify(person.caller, { challengeId, password: person.password }, info);
    for (const call of calls(person, pending.id)) expect(await ending(call())).toBe("403 step_up_required");
    for (const call of calls({ ...person, caller: elsewhere }, pending.id))
      expect(await ending(call())).not.toBe("403 step_up_required");
  });

  it.each([
    ["the challenge at login", async (who: Awaited<ReturnType<typeof enrolled>>) => who.login()],
    [
      "a step-up by code",
      async (who: Awaited<ReturnType<typeof enrolled>>) => {
        const { challengeId } = await identity.mfa.stepUp.challenge(who.caller, "totp", info);
        await identity.mfa.stepUp.verify(who.caller, { challengeId, code: who.fresh() }, info);
        return who.caller;
      },
    ],
  ])("goes on for the life of an elevated token after %s", async (_what, prove) => {
    const person = await enrolled(identity);
    identity.clock.advance(3_600_000);
    const caller = await prove(person);
    identity.clock.advance(900_000);
    expect(await ending(identity.mfa.factors.create(caller, undefined))).toBe("ok");
    identity.clock.advance(1);
    expect(await ending(identity.mfa.factors.create(caller, undefined))).toBe("403 step_up_required");
  });

  it("goes on undisturbed for somebody who has just enrolled, and without a factor needs a recent sign-in", async () => {
    const person = await enrolled(identity);
    expect(await identity.mfa.recoveryCodes.regenerate(person.caller, info)).toHaveLength(10);
    await identity.mfa.factors.remove(person.caller, person.factorId, info);
    identity.clock.advance(86_400_000);
    expect(await ending(identity.mfa.factors.create(person.caller, undefined))).toBe("403 step_up_required");
  });
});

describe("recovery codes", () => {
  it("need an active factor", async () => {
    const { caller } = await somebody(identity);
    expect(await ending(identity.mfa.recoveryCodes.regenerate(caller, info))).toBe("409 conflict");
    expect(await identity.mfa.recoveryCodes.list(caller)).toEqual([]);
  });

  it("are ten of 100 bits, stored hashed, and listed without the codes", async () => {
    const { caller } = await enrolled(identity);
    const codes = await identity.mfa.recoveryCodes.regenerate(caller, info);
    expect(new Set(codes).size).toBe(10);
    for (const code of codes) expect(code).toMatch(/^[0-9a-hjkmnp-tv-z]{4}(-[0-9a-hjkmnp-tv-z]{4}){4}$/u);
    const stored = await identity.sql<{ row: string; size: number }>(
      "select c::text as row, length(hash) as size from mfa_recovery_codes c",
    );
    for (const { row, size } of stored)
      expect([size, codes.some((code) => row.includes(code.replaceAll("-", "")))]).toEqual([32, false]);
    const listed = await identity.mfa.recoveryCodes.list(caller);
    expect(listed).toHaveLength(10);
    for (const row of listed) expect(Object.keys(row).sort()).toEqual(["created_at", "id", "used_at"]);
    expect(await identity.mfa.factors.status(caller)).toEqual({ hasActiveTotp: true, hasRecoveryCodes: true });
  });

  it("sign in once each, however they are typed", async () => {
    const person = await enrolled(identity);
    const [first = "", second = ""] = await identity.mfa.recoveryCodes.regenerate(person.caller, info);
    const use = async (code: string, recovery = true) =>
      ending(identity.mfa.challenge({ mfaToken: await person.pass(), code, recovery }, info));
    expect(await use(first, false)).toBe("401 unauthorized");
    expect(await use(first)).toBe("ok");
    expect(await use(first)).toBe("401 unauthorized");
    expect(await use(` ${second.toUpperCase().replaceAll("-", " ")} `)).toBe("ok");
    const listed = await identity.mfa.recoveryCodes.list(person.caller);
    expect(listed.filter((row) => row.used_at !== null)).toHaveLength(2);
    expect(await eventsOf(identity, person.caller.userUuid, "login.recovery_code")).toEqual(
      ["success", "failure unauthorized", "success"].map((end) => `login.recovery_code ${end}`),
    );
  });

  it("let one of fifty parallel uses through, each with a token of its own", async () => {
    const person = await enrolled(identity);
    const [code = ""] = await identity.mfa.recoveryCodes.regenerate(person.caller, info);
    const tokens = await Promise.all(Array.from({ length: 50 }, () => person.pass()));
    const other = identity.another();
    const all = await endings(
      tokens.map((mfaToken, at) =>
        (at % 2 === 0 ? identity : other).mfa.challenge({ mfaToken, code, recovery: true }, info),
      ),
    );
    expect(all.filter((one) => one === "ok")).toHaveLength(1);
    expect(new Set(all)).toEqual(new Set(["ok", "401 unauthorized", "429 too_many_attempts"]));
  });

  it("are void after a new generation, of which there is one however many ask", async () => {
    const person = await enrolled(identity);
    const [old = ""] = await identity.mfa.recoveryCodes.regenerate(person.caller, info);
    await Promise.all(Array.from({ length: 5 }, () => identity.mfa.recoveryCodes.regenerate(person.caller, info)));
    expect(await identity.mfa.recoveryCodes.list(person.caller)).toHaveLength(10);
    expect(
      await ending(identity.mfa.challenge({ mfaToken: await person.pass(), code: old, recovery: true }, info)),
    ).toBe("401 unauthorized");
  });

  it("are void with the last factor", async () => {
    const person = await enrolled(identity);
    await identity.mfa.recoveryCodes.regenerate(person.caller, info);
    await identity.mfa.factors.remove(person.caller, person.factorId, info);
    expect(await identity.mfa.recoveryCodes.list(person.caller)).toEqual([]);
    expect(await identity.mfa.factors.status(person.caller)).toEqual({ hasActiveTotp: false, hasRecoveryCodes: false });
  });
});
