import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decodeJwt } from "jose";
import { openIdentity } from "../support/identity.ts";
import type { Identity } from "../support/identity.ts";
import { ending, endings, enrolled, eventsOf, somebody, wrongCode } from "../mfa/support.ts";

let identity: Identity;
beforeAll(async () => {
  identity = await openIdentity();
});
afterAll(() => identity.close());

const stepUp = () => identity.stepUp;

describe("an elevated token", () => {
  it("an elevated token is a complete access token of the session, for 900 seconds", async () => {
    const person = await enrolled(identity);
    const caller = await person.login();
    const { challengeId, expiresAt } = await stepUp().challenge(identity.context(caller), "totp");
    expect(expiresAt.getTime() - identity.clock.now()).toBe(300_000);
    const { elevatedToken, expiresIn } = await stepUp().verify(identity.context(caller), {
      challengeId: challengeId.toUpperCase(),
      code: person.fresh(),
    });
    expect(expiresIn).toBe(900);
    const claims = decodeJwt(elevatedToken);
    expect(Object.keys(claims).sort()).toEqual([...Object.keys(caller.claims ?? {}), "acr"].sort());
    expect(claims).toMatchObject({
      acr: "elevated",
      sid: caller.sessionId,
      org: caller.orgUuid,
      auth_time: Math.floor(identity.clock.now() / 1000),
    });
    const elevated = await identity.me(elevatedToken);
    expect(elevated).toMatchObject({ elevated: true, isOwner: true });
    expect(stepUp().status(identity.context(elevated))).toEqual({
      elevated: true,
      expiresAt: new Date((claims.exp ?? 0) * 1000),
    });
    expect(stepUp().status(identity.context(caller))).toEqual({ elevated: false, expiresAt: undefined });
    identity.clock.advance(900_000);
    expect(await ending(identity.me(elevatedToken))).toBe("401 unauthorized");
    expect(await eventsOf(identity, caller.userUuid, "step_up.%")).toEqual([
      "step_up.challenged success",
      "step_up.verified success",
    ]);
  });

  it("an elevated token ends with the session", async () => {
    const { caller, password } = await somebody(identity);
    const { challengeId } = await stepUp().challenge(identity.context(caller), "password");
    const { elevatedToken } = await stepUp().verify(identity.context(caller), { challengeId, password });
    expect(await identity.me(elevatedToken)).toMatchObject({ elevated: true });
    await identity.sessions.own.logout(identity.context(caller));
    expect(await ending(identity.me(elevatedToken))).toBe("401 unauthorized");
  });
});

describe("a challenge", () => {
  it("a challenge by mail is answered with the mailed token, which has no other use", async () => {
    const { caller, email } = await somebody(identity);
    const issued = await stepUp().challenge(identity.context(caller), "magic_link");
    expect(issued.expiresAt.getTime() - identity.clock.now()).toBe(900_000);
    const mail = (await identity.mails()).at(-1);
    expect(mail?.to).toBe(email);
    const token = /[?&#]token=([\w-]+)/u.exec(mail?.text ?? "")?.[1] ?? "";
    expect(await ending(identity.login.magicLink.verify(identity.anonymous(), token))).toBe("401 unauthorized");
    expect(await ending(identity.login.signUp.confirmEmail(identity.anonymous(), token))).toBe("401 unauthorized");
    const { devToken } = await identity.login.magicLink.send(identity.anonymous(), { email });
    expect(
      await ending(stepUp().verify(identity.context(caller), { challengeId: issued.challengeId, token: devToken })),
    ).toBe("400 invalid_code");
    expect(
      await ending(stepUp().verify(identity.context(caller), { challengeId: issued.challengeId, code: token })),
    ).toBe("ok");
    const next = await stepUp().challenge(identity.context(caller), "magic_link");
    expect(await ending(stepUp().verify(identity.context(caller), { challengeId: next.challengeId, token }))).toBe(
      "400 invalid_code",
    );
  });

  it("a challenge accepts a recovery code in place of a code of the authenticator", async () => {
    const person = await enrolled(identity);
    const [code = ""] = await identity.mfa.recoveryCodes.regenerate(identity.context(person.caller));
    identity.clock.advance(900_001);
    const { challengeId } = await stepUp().challenge(identity.context(person.caller), "totp");
    expect(await ending(stepUp().verify(identity.context(person.caller), { challengeId, code }))).toBe(
      "400 invalid_code",
    );
    expect(await ending(stepUp().verify(identity.context(person.caller), { challengeId, code, recovery: true }))).toBe(
      "ok",
    );
    expect(await ending(identity.mfa.recoveryCodes.regenerate(identity.context(person.caller)))).toBe("ok");
  });

  it("a challenge without the input of its method returns 400", async () => {
    const person = await enrolled(identity);
    const { caller } = person;
    for (const [method, input] of [
      ["totp", { password: "x" }],
      ["magic_link", { password: "x" }],
      ["password", { code: "x" }],
      ["totp", {}],
      ["totp", { code: "" }],
    ] as const) {
      const { challengeId } = await stepUp().challenge(identity.context(caller), method);
      expect(await ending(stepUp().verify(identity.context(caller), { challengeId, ...input }))).toBe(
        "400 bad_request",
      );
    }
    expect(await eventsOf(identity, caller.userUuid, "step_up.failed")).toEqual([]);
  });

  it("a challenge by code needs a factor", async () => {
    const { caller } = await somebody(identity);
    await expect(stepUp().challenge(identity.context(caller), "totp")).rejects.toMatchObject({
      status: 400,
      code: "bad_request",
      fields: [{ field: "method" }],
    });
  });

  it("a challenge belongs to the session that requested it", async () => {
    const person = await enrolled(identity);
    const { challengeId } = await stepUp().challenge(identity.context(person.caller), "password");
    const [other, stranger] = [await person.login(), (await somebody(identity)).caller];
    for (const [who, id] of [
      [other, challengeId],
      [stranger, challengeId],
      [person.caller, randomUUID()],
    ] as const) {
      for (let at = 0; at < 6; at++)
        expect(await ending(stepUp().verify(identity.context(who), { challengeId: id, password: "wrong" }))).toBe(
          "404 not_found",
        );
    }
    expect(
      await ending(stepUp().verify(identity.context(person.caller), { challengeId, password: person.password })),
    ).toBe("ok");
  });

  it("a challenge returns 400 when expired and 410 when answered; neither counts as a failed attempt", async () => {
    const { caller, password } = await somebody(identity);
    const [late, used] = [
      await stepUp().challenge(identity.context(caller), "password"),
      await stepUp().challenge(identity.context(caller), "password"),
    ];
    expect(await ending(stepUp().verify(identity.context(caller), { ...used, password }))).toBe("ok");
    identity.clock.advance(300_000);
    for (let at = 0; at < 6; at++) {
      expect(await ending(stepUp().verify(identity.context(caller), { ...used, password }))).toBe("410 challenge_gone");
      expect(await ending(stepUp().verify(identity.context(caller), { ...late, password }))).toBe(
        "400 expired_challenge",
      );
    }
    const next = await stepUp().challenge(identity.context(caller), "password");
    expect(await ending(stepUp().verify(identity.context(caller), { ...next, password }))).toBe("ok");
  });

  it.each(["totp", "password", "magic_link"] as const)(
    "one of fifty parallel right answers to a challenge succeeds: %s",
    async (method) => {
      const person = await enrolled(identity);
      const { challengeId } = await stepUp().challenge(identity.context(person.caller), method);
      const token = /[?&#]token=([\w-]+)/u.exec((await identity.mails()).at(-1)?.text ?? "")?.[1];
      const answer = {
        challengeId,
        ...(method === "totp"
          ? { code: person.fresh() }
          : method === "password"
            ? { password: person.password }
            : { token }),
      };
      const other = identity.another();
      const all = await endings(
        Array.from({ length: 50 }, (_, at) =>
          (at % 2 === 0 ? identity : other).stepUp.verify(identity.context(person.caller), answer),
        ),
      );
      expect(all.filter((one) => one === "ok")).toHaveLength(1);
      expect(all.filter((one) => one === "410 challenge_gone")).toHaveLength(49);
    },
  );
});

describe("the lockout", () => {
  it("the fifth failure of any method locks challenge and verify, and no sign-in", async () => {
    const person = await enrolled(identity);
    const caller = await person.login();
    const code = await stepUp().challenge(identity.context(caller), "totp");
    const password = await stepUp().challenge(identity.context(caller), "password");
    const link = await stepUp().challenge(identity.context(caller), "magic_link");
    const wrong = wrongCode(person.secret, identity.clock.now());
    for (const answer of [
      { ...code, code: wrong },
      { ...password, password: "x" },
      { ...link, token: "x" },
      { ...code, code: wrong, recovery: true },
      { ...code, code: "no digits" },
    ]) {
      expect(await ending(stepUp().verify(identity.context(caller), answer))).toBe("400 invalid_code");
    }
    expect(await ending(stepUp().verify(identity.context(caller), { challengeId: randomUUID() }))).toBe(
      "400 bad_request",
    );
    expect(await ending(stepUp().verify(identity.context(caller), { challengeId: randomUUID(), code: "1" }))).toBe(
      "429 too_many_attempts",
    );
    expect(await ending(stepUp().verify(identity.context(caller), { ...password, password: person.password }))).toBe(
      "429 too_many_attempts",
    );
    expect(await ending(stepUp().challenge(identity.context(caller), "password"))).toBe("429 too_many_attempts");
    const again = await person.login();
    expect(await ending(stepUp().challenge(identity.context(again), "password"))).toBe("429 too_many_attempts");
    const [, ...events] = await eventsOf(identity, caller.userUuid, "step_up.failed");
    expect(events).toEqual([
      ...[1, 2, 3, 4].map(() => "step_up.failed failure invalid_code"),
      ...[1, 2].map(() => "step_up.failed failure too_many_attempts"),
    ]);
  });

  it("the lockout ends after five minutes, is not extended, and resets the count", async () => {
    const { caller, password } = await somebody(identity);
    const verify = async (answer: string) => {
      const issued = await stepUp().challenge(identity.context(caller), "password");
      return stepUp().verify(identity.context(caller), { ...issued, password: answer });
    };
    for (let round = 0; round < 2; round++) {
      const kept = await stepUp().challenge(identity.context(caller), "password");
      for (let at = 0; at < 5; at++) expect(await ending(verify("wrong"))).toBe("400 invalid_code");
      await expect(verify(password)).rejects.toMatchObject({ status: 429, retryAfter: 300 });
      identity.clock.advance(299_500);
      await expect(stepUp().verify(identity.context(caller), { ...kept, password: "wrong" })).rejects.toMatchObject({
        status: 429,
        retryAfter: 1,
      });
      identity.clock.advance(500);
    }
    for (let at = 0; at < 4; at++) expect(await ending(verify("wrong"))).toBe("400 invalid_code");
    expect(await ending(verify(password))).toBe("ok");
    for (let at = 0; at < 4; at++) expect(await ending(verify("wrong"))).toBe("400 invalid_code");
    expect(await ending(verify(password))).toBe("ok");
  });
});
