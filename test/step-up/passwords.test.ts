import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { codeAt, wrongCode } from "../mfa/support.ts";
import { auditOf, founder, outcome, password } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { signIn } from "../sessions/support.ts";

let app: TestApp;
let second: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock });
});
afterAll(async () => {
  await second.close();
  await app.close();
});

const minute = 60_000;

interface Factor {
  id: number;
  secret: string;
}

/** Somebody signed in, and the ways their password is asked for. */
async function somebody() {
  const who = await founder(app);
  const { token } = await signIn(app, who);
  const change = (current: string, wanted = "some other passphrase", on = app): Promise<Answer> =>
    on.call("PUT", "/api/profile/password", { token, body: { current_password: current, new_password: wanted } });
  const challenge = () => app.call("POST", "/api/auth/step-up/challenge", { token, body: { method: "password" } });
  const answer = async (given: string, id?: string): Promise<Answer> => {
    const challengeId = id ?? ((await challenge()).body?.challenge_id as string);
    return app.call("POST", "/api/auth/step-up/verify", {
      token,
      body: { challenge_id: challengeId, password: given },
    });
  };
  return { ...who, token, change, challenge, answer };
}

it("a wrong present password counts as a failed step-up, and the sixth locks for five minutes", async () => {
  const { change, challenge, answer, token, org } = await somebody();
  const open = (await challenge()).body.challenge_id as string;
  for (let at = 0; at < 3; at++) expect(outcome(await change("wrong"))).toBe("400 invalid_password");
  for (let at = 0; at < 2; at++) expect(outcome(await answer("wrong", open))).toBe("400 invalid_code");
  const refused = [await change(password), await answer(password, open), await challenge()];
  for (const one of refused) {
    expect(outcome(one)).toBe("429 too_many_attempts");
    expect(one.headers.get("retry-after")).toBe("300");
  }
  app.clock.advance(2 * minute);
  expect((await change("wrong")).headers.get("retry-after")).toBe("180");
  expect(outcome(await change("wrong", "short"))).toBe("400 validation_error");
  app.clock.advance(3 * minute);
  for (let at = 0; at < 4; at++) expect(outcome(await change("wrong"))).toBe("400 invalid_password");
  expect((await change(password)).status).toBe(204);
  const events = await auditOf(app, { token, org }, "user.updated&outcome=failure");
  expect(events.map(({ metadata }) => metadata["code"])).toContain("too_many_attempts");
});

it("a step-up by password is refused before any try for a person who has none", async () => {
  const { challenge, token, userUuid } = await somebody();
  await runSql(app.databaseUrl, "update people set password_hash = null where uuid = $1", [userUuid]);
  for (let at = 0; at < 6; at++) {
    const refused = await challenge();
    expect(outcome(refused)).toBe("400 bad_request");
    expect(refused.body).toMatchObject({ message: "You have no password.", errors: [{ field: "method" }] });
  }
  const byMail = { token, body: { method: "magic_link" } };
  expect(outcome(await app.call("POST", "/api/auth/step-up/challenge", byMail))).toBe("200");
});

it("a right present password resets the count, and so does a right step-up", async () => {
  const { change, answer } = await somebody();
  for (let at = 0; at < 4; at++) expect(outcome(await change("wrong"))).toBe("400 invalid_password");
  expect((await change(password, password)).status).toBe(204);
  for (let at = 0; at < 4; at++) expect(outcome(await change("wrong"))).toBe("400 invalid_password");
  expect((await answer(password)).status).toBe(200);
  for (let at = 0; at < 4; at++) expect(outcome(await answer("wrong"))).toBe("400 invalid_code");
  expect((await change(password, password)).status).toBe(204);
});

it("parallel guesses cannot exceed the count, and a right one during the lockout changes nothing", async () => {
  const { change, answer } = await somebody();
  const tries = await Promise.all(
    Array.from({ length: 16 }, (_, at) => change("wrong", undefined, at % 2 === 0 ? app : second)),
  );
  const outcomes = tries.map(outcome).toSorted();
  expect(outcomes).toEqual([
    ...Array<string>(5).fill("400 invalid_password"),
    ...Array<string>(11).fill("429 too_many_attempts"),
  ]);
  expect(outcome(await change(password))).toBe("429 too_many_attempts");
  app.clock.advance(5 * minute);
  expect((await answer(password)).status).toBe(200);
});

it("a password resets no count of wrong codes: from the hundredth on each one locks, until a right one", async () => {
  const { answer, token } = await somebody();
  const post = (path: string, body: object) => app.call("POST", path, { token, body });
  const { id, secret } = (await post("/api/v1/me/mfa/factors", { factor_type: "totp" })).body.data as Factor;
  await post(`/api/v1/me/mfa/factors/${id}/verify`, { code: codeAt(secret, app.clock.now()) });
  let challenge_id = "";
  const begin = async () => {
    challenge_id = (await post("/api/auth/step-up/challenge", { method: "totp" })).body.challenge_id as string;
  };
  const guess = async (code = wrongCode(secret, app.clock.now())) =>
    outcome(await post("/api/auth/step-up/verify", { challenge_id, code }));
  await begin();
  for (let round = 0; round < 25; round++) {
    for (let at = 0; at < 4; at++) expect(await guess()).toBe("400 invalid_code");
    if (round < 24) expect((await answer(password)).status).toBe(200);
  }
  expect(await guess()).toBe("429 too_many_attempts");
  app.clock.advance(5 * minute);
  await begin();
  expect([await guess(), await guess()]).toEqual(["400 invalid_code", "429 too_many_attempts"]);
  app.clock.advance(5 * minute);
  expect((await answer(password)).status).toBe(200);
  await begin();
  expect(await guess(codeAt(secret, app.clock.now()))).toBe("200");
  await begin();
  expect([await guess(), await guess()]).toEqual(["400 invalid_code", "400 invalid_code"]);
  // The count is that of a factor, and does not outlive it.
  expect((await app.call("DELETE", `/api/v1/me/mfa/factors/${id}`, { token })).status).toBe(204);
  expect(await runSql(app.databaseUrl, "select 1 from mfa_failures where wrong_codes > 0")).toEqual([]);
});
