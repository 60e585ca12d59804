import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, mailsTo, outcome, tokenTo } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { directoryOf, refusal } from "./support.ts";
import type { Directory } from "./support.ts";

let app: TestApp;
let hostile: Directory;
let employer: Directory;
beforeAll(async () => {
  app = await startApp();
  hostile = await directoryOf(app, await founder(app));
  employer = await directoryOf(app, await founder(app));
});
afterAll(() => app.close());

let made = 0;
const fresh = (domain: string) => `person${++made}@${domain}`;

/** The token in the newest mail to an address that ends its account. */
async function disownToken(email: string): Promise<string> {
  return /disown#token=([\w-]+)/u.exec((await mailsTo(app, email)).at(-1)?.text ?? "")?.[1] ?? "";
}

/** Somebody whom one directory has made, and another one has invited; with the token of the invitation. */
async function invited(userName: string): Promise<{ id: string; token: string }> {
  const { id } = await hostile.user({ userName });
  expect((await employer.user({ userName })).id).toBe(id);
  return { id: id as string, token: await tokenTo(app, userName) };
}

const move = (id: string, value: string) => hostile.patch(`/Users/${id}`, { op: "replace", path: "userName", value });
const end = async (token: string) => outcome(await app.call("POST", "/api/auth/email/disown", { body: { token } }));
const show = async (token: string) => outcome(await app.call("GET", `/api/auth/invite/${token}`));

test("an invitation of a directory ends when another one gives the person another address", async () => {
  const [hire, thief] = [fresh("corp.test"), fresh("evil.test")];
  const { id, token } = await invited(hire);
  expect(await show(token)).toBe("200");
  expect(refusal(await move(id, thief))).toBe("200");
  expect(await show(token)).toBe("404 invitation_not_found");
  const title = { op: "replace", path: "title", value: "Engineer" };
  expect(refusal(await employer.patch(`/Users/${id}`, title))).toMatch(/^404/);
  expect(await mailsTo(app, thief)).toEqual([]);
  const again = await employer.user({ userName: hire });
  expect(again).toMatchObject({ active: true });
  expect(again.id).not.toBe(id);
});

test("an invitation of a directory ends with the account that its mailbox ends", async () => {
  const owner = fresh("corp.test");
  const { id, token: invitation } = await invited(owner);
  expect(await end(await disownToken(owner))).toBe("204");
  expect(refusal(await employer.call("GET", `/Users/${id}`))).toMatch(/^404/);
  expect(await show(invitation)).toBe("404 invitation_not_found");
  expect(await employer.user({ userName: owner })).toMatchObject({ active: true });
});

test("a link that ends an account works no more once the account has another address", async () => {
  const [typo, right] = [fresh("corp.test"), fresh("corp.test")];
  const { id } = await hostile.user({ userName: typo });
  await app.call("POST", "/api/auth/magic-link/send", { body: { email: typo } });
  const token = await disownToken(typo);
  expect(refusal(await move(id as string, right))).toBe("200");
  expect(await end(token)).toBe("401 unauthorized");
  expect(await runSql(app.databaseUrl, "select email from people where uuid = $1", [id])).toEqual([{ email: right }]);
});
