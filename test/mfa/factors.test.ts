import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openIdentity } from "../support/identity.ts";
import type { Identity } from "../support/identity.ts";
import type { Caller } from "../../src/platform/caller.ts";
import { codeAt, ending, endings, enrolled, eventsOf, somebody, wrongCode } from "./support.ts";

let identity: Identity;
beforeAll(async () => {
  identity = await openIdentity();
});
afterAll(() => identity.close());

describe("a factor", () => {
  it("a factor is pending until its first code, with a secret that authenticator apps read", async () => {
    const { caller, email } = await somebody(identity);
    const issuer = caller.orgName ?? "";
    const made = await identity.mfa.factors.create(identity.context(caller), " my phone ");
    expect(made.secret).toMatch(/^[A-Z2-7]{32}$/u);
    const uri = new URL(made.otpauthUri);
    expect(uri.protocol + uri.host).toBe("otpauth:totp");
    expect(decodeURIComponent(uri.pathname)).toBe(`/${issuer}:${email} (my phone)`);
    expect(uri.searchParams.get("secret")).toBe(made.secret);
    expect(uri.searchParams.get("issuer")).toBe(issuer);
    expect(await identity.mfa.factors.list(identity.context(caller))).toEqual([
      { id: made.id, factorType: "totp", label: "my phone", status: "pending" },
    ]);
    expect(await identity.mfa.factors.status(identity.context(caller))).toEqual({
      hasActiveTotp: false,
      hasRecoveryCodes: false,
    });
    expect(
      await ending(
        identity.mfa.factors.verify(identity.context(caller), made.id, wrongCode(made.secret, identity.clock.now())),
      ),
    ).toBe("401 unauthorized");
    await identity.mfa.factors.verify(identity.context(caller), made.id, codeAt(made.secret, identity.clock.now()));
    expect(await identity.mfa.factors.status(identity.context(caller))).toEqual({
      hasActiveTotp: true,
      hasRecoveryCodes: false,
    });
    expect(await ending(identity.mfa.factors.verify(identity.context(caller), made.id, "123456"))).toBe(
      "404 not_found",
    );
    expect(await eventsOf(identity, caller.userUuid, "mfa.%")).toEqual([
      "mfa.enrolled failure unauthorized",
      "mfa.enrolled success",
    ]);
  });

  it("a factor's secret is stored sealed, and deleted with the factor", async () => {
    const { caller, secret, factorId } = await enrolled(identity);
    const [row] = await identity.sql<{ secret: Buffer }>("select secret from mfa_factors where id = $1", [factorId]);
    expect(row?.secret.toString("latin1")).not.toContain(secret);
    await identity.mfa.factors.remove(identity.context(caller), factorId);
    expect(await identity.sql("select status, secret from mfa_factors where id = $1", [factorId])).toEqual([
      { status: "disabled", secret: null },
    ]);
    expect(await identity.mfa.factors.list(identity.context(caller))).toEqual([]);
    expect(await ending(identity.mfa.factors.remove(identity.context(caller), factorId))).toBe("404 not_found");
    expect(await eventsOf(identity, caller.userUuid, "mfa.disabled")).toEqual(["mfa.disabled success"]);
  });

  it("a factor of another person is 404, and so is an id of any size", async () => {
    const [mine, theirs] = [await somebody(identity), await enrolled(identity)];
    for (const id of [theirs.factorId, 0, 4_294_967_295]) {
      expect(await ending(identity.mfa.factors.verify(identity.context(mine.caller), id, "123456"))).toBe(
        "404 not_found",
      );
      expect(await ending(identity.mfa.factors.remove(identity.context(mine.caller), id))).toBe("404 not_found");
    }
    expect(await identity.mfa.factors.status(identity.context(theirs.caller))).toMatchObject({ hasActiveTotp: true });
  });

  it("a factor is activated by one of fifty parallel codes", async () => {
    const { caller } = await somebody(identity);
    const { id, secret } = await identity.mfa.factors.create(identity.context(caller), undefined);
    const other = identity.another();
    const code = codeAt(secret, identity.clock.now());
    const all = await endings(
      Array.from({ length: 50 }, (_, at) =>
        (at % 2 === 0 ? identity : other).mfa.factors.verify(identity.context(caller), id, code),
      ),
    );
    expect(all.filter((one) => one === "ok")).toHaveLength(1);
    expect(all.filter((one) => one === "404 not_found")).toHaveLength(49);
  });

  it("every active factor of a person is accepted", async () => {
    const person = await enrolled(identity);
    const { caller, fresh } = person;
    const second = await identity.mfa.factors.create(identity.context(caller), "tablet");
    fresh();
    await identity.mfa.factors.verify(identity.context(caller), second.id, codeAt(second.secret, identity.clock.now()));
    for (const secret of [person.secret, second.secret]) {
      identity.clock.advance(30_000);
      const code = codeAt(secret, identity.clock.now());
      expect(
        await ending(identity.login.completeSignIn(identity.anonymous(), { mfaToken: await person.pass(), code })),
      ).toBe("ok");
    }
    await identity.mfa.factors.remove(identity.context(caller), person.factorId);
    expect(await identity.mfa.factors.status(identity.context(caller))).toMatchObject({ hasActiveTotp: true });
    expect(
      await ending(
        identity.login.completeSignIn(identity.anonymous(), { mfaToken: await person.pass(), code: person.fresh() }),
      ),
    ).toBe("401 unauthorized");
  });

  it("a person has at most ten factors", async () => {
    const { caller } = await somebody(identity);
    const all = await endings(
      Array.from({ length: 14 }, () => identity.mfa.factors.create(identity.context(caller), undefined)),
    );
    expect(all.filter((one) => one === "ok")).toHaveLength(10);
    expect(all.filter((one) => one === "422 unprocessable")).toHaveLength(4);
  });

  it("pending factors of an hour ago make room for the eleventh, and fresh and active ones do not", async () => {
    const person = await enrolled(identity);
    const create = (caller: Caller) => identity.mfa.factors.create(identity.context(caller), undefined);
    const caller = await person.login();
    const abandoned = await create(caller);
    for (let pending = 2; pending <= 9; pending++) await create(caller);
    expect(await ending(create(caller))).toBe("422 unprocessable");
    identity.clock.advance(3_540_000);
    const later = await person.login();
    expect(await ending(create(later))).toBe("422 unprocessable");
    identity.clock.advance(60_000);
    const added = await create(later);
    const left = await identity.mfa.factors.list(identity.context(later));
    expect(left.map(({ id, status }) => [id, status])).toEqual([
      [person.factorId, "active"],
      [added.id, "pending"],
    ]);
    const late = identity.mfa.factors.verify(identity.context(later), abandoned.id, "123456");
    expect(await ending(late)).toBe("404 not_found");
    const ended = await eventsOf(identity, person.caller.userUuid, "mfa.disabled");
    expect(ended).toEqual(Array.from({ length: 9 }, () => "mfa.disabled success"));
    for (let pending = 2; pending <= 9; pending++) await create(later);
    expect(await ending(create(later))).toBe("422 unprocessable");
  });

  it("a factor whose secret cannot be opened is an internal error, not a wrong code", async () => {
    const person = await enrolled(identity);
    await identity.sql("update mfa_factors set secret = 'x' where id = $1", [person.factorId]);
    await expect(
      identity.login.completeSignIn(identity.anonymous(), { mfaToken: await person.pass(), code: "123456" }),
    ).rejects.toThrow(/sealed box/u);
  });
});

describe("changing factors", () => {
  const calls = (who: Awaited<ReturnType<typeof enrolled>>, pending: number) => [
    () => identity.mfa.factors.create(identity.context(who.caller), undefined),
    () => identity.mfa.factors.verify(identity.context(who.caller), pending, "123456"),
    () => identity.mfa.factors.remove(identity.context(who.caller), who.factorId),
    () => identity.mfa.recoveryCodes.regenerate(identity.context(who.caller)),
  ];

  it("changing factors needs a proof in the same session, and not by password", async () => {
    const person = await enrolled(identity);
    const pending = await identity.mfa.factors.create(identity.context(person.caller), undefined);
    identity.clock.advance(900_001);
    const elsewhere = await person.login();
    for (const call of calls(person, pending.id)) expect(await ending(call())).toBe("403 step_up_required");
    const { challengeId } = await identity.stepUp.challenge(identity.context(person.caller), "password");
    await identity.stepUp.verify(identity.context(person.caller), { challengeId, password: person.password });
    for (const call of calls(person, pending.id)) expect(await ending(call())).toBe("403 step_up_required");
    for (const call of calls({ ...person, caller: elsewhere }, pending.id))
      expect(await ending(call())).not.toBe("403 step_up_required");
  });

  it.each([
    ["the challenge at login", async (who: Awaited<ReturnType<typeof enrolled>>) => who.login()],
    [
      "a step-up by code",
      async (who: Awaited<ReturnType<typeof enrolled>>) => {
        const { challengeId } = await identity.stepUp.challenge(identity.context(who.caller), "totp");
        await identity.stepUp.verify(identity.context(who.caller), { challengeId, code: who.fresh() });
        return who.caller;
      },
    ],
  ])("factors can be changed for the lifetime of an elevated token after %s", async (_what, prove) => {
    const person = await enrolled(identity);
    identity.clock.advance(3_600_000);
    const caller = await prove(person);
    identity.clock.advance(900_000);
    expect(await ending(identity.mfa.factors.create(identity.context(caller), undefined))).toBe("ok");
    identity.clock.advance(1);
    expect(await ending(identity.mfa.factors.create(identity.context(caller), undefined))).toBe("403 step_up_required");
  });

  it("factors can be changed right after enrolment, and without a factor after a recent sign-in", async () => {
    const person = await enrolled(identity);
    expect(await identity.mfa.recoveryCodes.regenerate(identity.context(person.caller))).toHaveLength(10);
    await identity.mfa.factors.remove(identity.context(person.caller), person.factorId);
    identity.clock.advance(86_400_000);
    expect(await ending(identity.mfa.factors.create(identity.context(person.caller), undefined))).toBe(
      "403 step_up_required",
    );
  });
});

describe("recovery codes", () => {
  it("recovery codes need an active factor", async () => {
    const { caller } = await somebody(identity);
    expect(await ending(identity.mfa.recoveryCodes.regenerate(identity.context(caller)))).toBe("409 conflict");
    expect(await identity.mfa.recoveryCodes.list(identity.context(caller))).toEqual([]);
  });

  it("recovery codes are ten of 100 bits, stored hashed, and listed without the codes", async () => {
    const { caller } = await enrolled(identity);
    const codes = await identity.mfa.recoveryCodes.regenerate(identity.context(caller));
    expect(new Set(codes).size).toBe(10);
    for (const code of codes) expect(code).toMatch(/^[0-9a-hjkmnp-tv-z]{4}(-[0-9a-hjkmnp-tv-z]{4}){4}$/u);
    const stored = await identity.sql<{ row: string; size: number }>(
      "select c::text as row, length(hash) as size from mfa_recovery_codes c",
    );
    for (const { row, size } of stored)
      expect([size, codes.some((code) => row.includes(code.replaceAll("-", "")))]).toEqual([32, false]);
    const listed = await identity.mfa.recoveryCodes.list(identity.context(caller));
    expect(listed).toHaveLength(10);
    for (const row of listed) expect(Object.keys(row).sort()).toEqual(["createdAt", "id", "usedAt"]);
    expect(await identity.mfa.factors.status(identity.context(caller))).toEqual({
      hasActiveTotp: true,
      hasRecoveryCodes: true,
    });
  });

  it("each recovery code signs in once, in any spelling", async () => {
    const person = await enrolled(identity);
    const [first = "", second = ""] = await identity.mfa.recoveryCodes.regenerate(identity.context(person.caller));
    const use = async (code: string, recovery = true) =>
      ending(identity.login.completeSignIn(identity.anonymous(), { mfaToken: await person.pass(), code, recovery }));
    expect(await use(first, false)).toBe("401 unauthorized");
    expect(await use(first)).toBe("ok");
    expect(await use(first)).toBe("401 unauthorized");
    expect(await use(` ${second.toUpperCase().replaceAll("-", " ")} `)).toBe("ok");
    const listed = await identity.mfa.recoveryCodes.list(identity.context(person.caller));
    expect(listed.filter((row) => row.usedAt !== null)).toHaveLength(2);
    expect(await eventsOf(identity, person.caller.userUuid, "login.recovery_code")).toEqual(
      ["success", "failure unauthorized", "success"].map((end) => `login.recovery_code ${end}`),
    );
    await identity.sql("update mfa_recovery_codes set used_at = now() where user_uuid = $1", [person.caller.userUuid]);
    const status = await identity.mfa.factors.status(identity.context(person.caller));
    expect(status).toEqual({ hasActiveTotp: true, hasRecoveryCodes: false });
  });

  it("one of fifty parallel uses of a recovery code succeeds, each with its own token", async () => {
    const person = await enrolled(identity);
    const [code = ""] = await identity.mfa.recoveryCodes.regenerate(identity.context(person.caller));
    const tokens = await Promise.all(Array.from({ length: 50 }, () => person.pass()));
    const other = identity.another();
    const all = await endings(
      tokens.map((mfaToken, at) =>
        (at % 2 === 0 ? identity : other).login.completeSignIn(identity.anonymous(), {
          mfaToken,
          code,
          recovery: true,
        }),
      ),
    );
    expect(all.filter((one) => one === "ok")).toHaveLength(1);
    expect(new Set(all)).toEqual(new Set(["ok", "401 unauthorized", "429 too_many_attempts"]));
  });

  it("recovery codes are void after a new generation, and concurrent requests leave one generation", async () => {
    const person = await enrolled(identity);
    const [old = ""] = await identity.mfa.recoveryCodes.regenerate(identity.context(person.caller));
    await Promise.all(
      Array.from({ length: 5 }, () => identity.mfa.recoveryCodes.regenerate(identity.context(person.caller))),
    );
    expect(await identity.mfa.recoveryCodes.list(identity.context(person.caller))).toHaveLength(10);
    expect(
      await ending(
        identity.login.completeSignIn(identity.anonymous(), {
          mfaToken: await person.pass(),
          code: old,
          recovery: true,
        }),
      ),
    ).toBe("401 unauthorized");
  });
});
