import { afterAll, beforeAll, expect, it } from "vitest";
import { signIn } from "../sessions/support.ts";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { elevated, founder, mailsTo, member, outcome } from "../support/people.ts";
import { codeAt } from "./support.ts";

let app: TestApp;
let second: TestApp;
beforeAll(async () => {
  const env = { SERVICE_RATE_LIMITS: "on", SERVICE_OPEN_SIGNUP: "1" };
  app = await startApp({ env });
  second = await startApp({ env, databaseUrl: app.databaseUrl, clock: app.clock });
});
afterAll(async () => {
  await second.close();
  await app.close();
});

const FACTORS = "/api/v1/me/mfa/factors";

/** Somebody signed in, and the changes they can make of their factors. */
async function somebody() {
  const who = await founder(app);
  const { token } = await signIn(app, who);
  const create = (): Promise<Answer> => app.call("POST", FACTORS, { token, body: { factor_type: "totp" } });
  const remove = (id: number): Promise<Answer> => app.call("DELETE", `${FACTORS}/${id}`, { token });
  const regenerate = (by = app): Promise<Answer> =>
    by.call("POST", "/api/v1/me/mfa/recovery-codes/regenerate", { token });
  const enrol = async (): Promise<number> => {
    const { id, secret } = (await create()).body.data as { id: number; secret: string };
    const code = codeAt(secret, app.clock.now());
    expect((await app.call("POST", `${FACTORS}/${id}/verify`, { token, body: { code } })).status).toBe(200);
    return id;
  };
  const notices = async (): Promise<number> =>
    (await mailsTo(app, who.email)).filter(({ subject }) => /factor|recovery codes/u.test(subject)).length;
  return { ...who, token, create, remove, regenerate, enrol, notices };
}

it("a session changes factors and recovery codes 20 times an hour, on all instances together", async () => {
  const { create, remove, regenerate, enrol, notices } = await somebody();
  const id = await enrol();
  for (let at = 0; at < 19; at++) expect(outcome(await regenerate(at % 2 === 0 ? app : second))).toBe("200");
  const refused = await regenerate(second);
  expect(outcome(refused)).toBe("429 rate_limited");
  expect(refused.headers.get("retry-after")).toBe("180");
  for (const answer of [await create(), await remove(id)]) expect(outcome(answer)).toBe("429 rate_limited");
  expect(await notices()).toBe(20);
  app.clock.advance(180_000);
  expect((await remove(id)).status).toBe(204);
  expect(await notices()).toBe(21);
});

it("changes that are refused for another reason, and removals of pending factors, are not counted", async () => {
  const { create, remove, regenerate } = await somebody();
  for (let at = 0; at < 21; at++) expect(outcome(await regenerate())).toBe("409 conflict");
  for (let at = 0; at < 21; at++) expect(outcome(await remove(4_000_000_000))).toBe("404 not_found");
  for (let at = 0; at < 10; at++) {
    const { body } = await create();
    expect((await remove(body.data.id as number)).status).toBe(204);
  }
  for (let at = 0; at < 10; at++) expect((await create()).status).toBe(201);
  expect(outcome(await create())).toBe("422 unprocessable");
});

it("the removal of a member's factors is mailed when there were factors", async () => {
  const boss = await founder(app);
  const power = await elevated(app, boss.token);
  const lost = await member(app, boss);
  const reset = (): Promise<Answer> => app.call("DELETE", `/api/users/${lost.userUuid}/mfa-factors`, { token: power });
  const notices = async (): Promise<string[]> =>
    (await mailsTo(app, lost.email)).map(({ subject }) => subject).filter((text) => text.includes("factor"));
  expect((await reset()).status).toBe(204);
  expect(await notices()).toEqual([]);
  const { token } = await signIn(app, lost);
  const { id, secret } = (await app.call("POST", FACTORS, { token, body: { factor_type: "totp" } })).body.data;
  const code = codeAt(secret as string, app.clock.now());
  expect((await app.call("POST", `${FACTORS}/${id}/verify`, { token, body: { code } })).status).toBe(200);
  for (let at = 0; at < 3; at++) expect((await reset()).status).toBe(204);
  expect(await notices()).toEqual(["A second factor was added", "Your second factors were removed"]);
});
