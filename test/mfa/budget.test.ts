import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSecondFactorLogin } from "../../src/domains/login/second-factor.ts";
import { info, openIdentity } from "../support/identity.ts";
import type { Identity } from "../support/identity.ts";
import { randomOf } from "../support/random-of.ts";
import { codeAt, ending, endings, enrolled, wrongCode } from "./support.ts";
import type { Enrolled } from "./support.ts";

let identity: Identity;
let other: ReturnType<Identity["another"]>;
beforeAll(async () => {
  identity = await openIdentity();
  other = identity.another();
});
afterAll(() => identity.close());

/** A model of decisions 4.3: the outcome of an attempt, and the count after it. */
class Model {
  failures = 0;
  until = 0;
  readonly wrong: string;
  readonly block: (failures: number) => number;
  readonly startsAnew: boolean;

  constructor(wrong: string, block: (failures: number) => number, startsAnew: boolean) {
    this.wrong = wrong;
    this.block = block;
    this.startsAnew = startsAnew;
  }

  attempt(right: boolean, now: number): string {
    if (now < this.until) return "429 too_many_attempts";
    this.failures = right ? 0 : this.failures + 1;
    if (right) return "ok";
    const block = this.block(this.failures);
    if (block > 0) this.until = now + block;
    if (block > 0 && this.startsAnew) this.failures = 0;
    return this.wrong;
  }
}

const stepUpModel = () => new Model("400 invalid_code", (failures) => (failures === 5 ? 300_000 : 0), true);
const secondModel = () =>
  new Model(
    "401 unauthorized",
    (failures) => (failures < 10 ? 0 : Math.min(2_000 * 2 ** (failures - 10), 300_000)),
    false,
  );

/** The calls that count failures of a person, on either instance. */
function calls(person: Enrolled, factorId: number, issued: { totp: string; password: string; magic_link: string }) {
  const { caller, secret } = person;
  const wrong = (): string => wrongCode(secret, identity.clock.now());
  const on = (at: number) => (at % 2 === 0 ? identity : other);
  const context = identity.context(caller);
  const anonymous = identity.anonymous();
  const inOrder = [
    (at: number) => on(at).stepUp.verify(context, { challengeId: issued.totp, code: wrong() }),
    (at: number) => on(at).stepUp.verify(context, { challengeId: issued.password, password: "wrong" }),
    (at: number) => on(at).stepUp.verify(context, { challengeId: issued.magic_link, token: "wrong" }),
    (at: number) => on(at).stepUp.verify(context, { challengeId: issued.totp, code: "wrong", recovery: true }),
  ];
  const second = [
    async (at: number) => on(at).login.completeSignIn(anonymous, { mfaToken: await person.pass(), code: wrong() }),
    async (at: number) =>
      on(at).login.completeSignIn(anonymous, { mfaToken: await person.pass(), code: "wrong", recovery: true }),
    (at: number) => on(at).mfa.factors.verify(context, factorId, "no digits"),
  ];
  return {
    wrongStepUp: (which: number, at: number) =>
      (inOrder[which % inOrder.length] ?? inOrder[0])?.(at) ?? Promise.resolve(),
    wrongSecond: (which: number, at: number) => (second[which % second.length] ?? second[0])?.(at) ?? Promise.resolve(),
  };
}

/** Challenges and the session's proof never expire in these tests, which check failure counts alone. */
async function refresh(person: Enrolled): Promise<void> {
  const now = new Date(identity.clock.now());
  const later = new Date(now.getTime() + 3_600_000);
  await identity.sql("update step_up_challenges set expires_at = $2, consumed_at = null where session_uuid = $1", [
    person.caller.sessionId,
    later,
  ]);
  await identity.sql("update sessions set second_factor_at = $2 where uuid = $1", [person.caller.sessionId, now]);
}

async function prepared() {
  const person = await enrolled(identity);
  const { caller } = person;
  const pending = await identity.mfa.factors.create(identity.context(caller), undefined);
  const issue = async (method: "totp" | "password" | "magic_link") =>
    (await identity.stepUp.challenge(identity.context(caller), method)).challengeId;
  const issued = {
    totp: await issue("totp"),
    password: await issue("password"),
    magic_link: await issue("magic_link"),
  };
  return { person, issued, ...calls(person, pending.id, issued) };
}

describe("the failure budgets", () => {
  it.each([1, 2, 3, 4])(
    "failure counts behave as the model under random attempts on two instances (seed %i)",
    async (seed) => {
      const { below: pick } = randomOf(seed);
      const { person, issued, wrongStepUp, wrongSecond } = await prepared();
      const [stepUp, second] = [stepUpModel(), secondModel()];
      const { clock } = identity;
      for (let turn = 0; turn < 60; turn++) {
        await refresh(person);
        const action = pick(10);
        const many = 1 + pick(action % 2 === 0 ? 2 : 7);
        if (action < 3) {
          const got = await endings(Array.from({ length: many }, (_, at) => wrongStepUp(pick(4), at)));
          expect(got.sort(), `turn ${turn}`).toEqual(got.map(() => stepUp.attempt(false, clock.now())).sort());
        } else if (action < 6) {
          const got = await endings(Array.from({ length: many }, (_, at) => wrongSecond(pick(3), at)));
          expect(got.sort(), `turn ${turn}`).toEqual(got.map(() => second.attempt(false, clock.now())).sort());
        } else if (action === 6) {
          const got = await ending(
            other.stepUp.verify(identity.context(person.caller), {
              challengeId: issued.password,
              password: person.password,
            }),
          );
          expect(got, `turn ${turn}`).toBe(stepUp.attempt(true, clock.now()));
        } else if (action === 7 && pick(3) === 0) {
          const got = await ending(
            identity.login.completeSignIn(identity.anonymous(), {
              mfaToken: await person.pass(),
              code: person.fresh(),
            }),
          );
          expect(got, `turn ${turn}`).toBe(second.attempt(true, clock.now()));
        } else {
          clock.advance([1, 999, 2_000, 4_000, 64_000, 299_999, 300_000][pick(7)] ?? 0);
        }
      }
    },
  );

  it("ten failures of the second factor lock for 2 s, doubling to 5 minutes", async () => {
    const { person, wrongSecond } = await prepared();
    for (let at = 0; at < 10; at++) expect(await ending(wrongSecond(at, at))).toBe("401 unauthorized");
    for (const seconds of [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]) {
      await refresh(person);
      await expect(wrongSecond(0, 0)).rejects.toMatchObject({
        status: 429,
        code: "too_many_attempts",
        retryAfter: seconds,
      });
      identity.clock.advance(seconds * 1000 - 1);
      const right = { mfaToken: await person.pass(), code: codeAt(person.secret, identity.clock.now()) };
      await expect(identity.login.completeSignIn(identity.anonymous(), right)).rejects.toMatchObject({
        status: 429,
        retryAfter: 1,
      });
      identity.clock.advance(1);
      expect(await ending(wrongSecond(0, 1))).toBe("401 unauthorized");
    }
  });

  it("concurrent attempts cannot exceed a failure count", async () => {
    const { wrongStepUp, wrongSecond } = await prepared();
    const steps = await endings(Array.from({ length: 50 }, (_, at) => wrongStepUp(at, at)));
    expect(steps.filter((one) => one === "400 invalid_code")).toHaveLength(5);
    const seconds = await endings(Array.from({ length: 40 }, (_, at) => wrongSecond(at, at)));
    expect(seconds.filter((one) => one === "401 unauthorized")).toHaveLength(10);
    expect(new Set([...steps, ...seconds])).toEqual(
      new Set(["400 invalid_code", "401 unauthorized", "429 too_many_attempts"]),
    );
  });

  it("a right code that is rolled back, a new login or instance does not reset a failure count", async () => {
    const { person, wrongSecond } = await prepared();
    for (let at = 0; at < 9; at++) await ending(wrongSecond(at, at));
    const completeSignIn = createSecondFactorLogin(identity, {
      "test.fail": { resume: () => Promise.reject(new Error("undone")) },
    });
    const needed = await identity.database.transaction(async (tx) => {
      const standing = await identity.access.standing(tx, person.caller.userUuid ?? "", null);
      if (standing === undefined) throw new Error("nobody");
      return identity.mfa.requestSecondFactor(tx, {
        standing,
        amr: ["pwd"],
        info,
        next: { name: "test.fail", payload: {} },
      });
    });
    expect(
      await ending(completeSignIn(identity.anonymous(), { mfaToken: needed?.mfaToken ?? "", code: person.fresh() })),
    ).toBe("undone");
    const third = identity.another();
    const wrong = { mfaToken: await person.pass(), code: wrongCode(person.secret, identity.clock.now()) };
    expect(await ending(third.login.completeSignIn(identity.anonymous(), wrong))).toBe("401 unauthorized");
    expect(await ending(third.login.completeSignIn(identity.anonymous(), wrong))).toBe("429 too_many_attempts");
  });
});
