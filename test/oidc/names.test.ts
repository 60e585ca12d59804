import { afterAll, beforeAll, expect, it } from "vitest";
import { directoryOf } from "../scim/support.ts";
import { outcome } from "../support/people.ts";
import { signIn, startRealm, subject } from "./support.ts";
import type { Realm } from "./support.ts";

let realm: Realm;
beforeAll(async () => {
  realm = await startRealm();
});
afterAll(() => realm.close());

/** The names that a new person has after their first sign-in. */
async function namesOf(sub: string, claims: Record<string, unknown> = {}): Promise<unknown[]> {
  const answer = await signIn(realm, subject(sub, claims));
  expect(outcome(answer)).toBe("200");
  const { body } = await realm.app.call("GET", "/api/profile", { token: answer.body.access_token as string });
  return [body.first_name, body.last_name];
}

it.each<[string, string, unknown, string, unknown]>([
  ["the joiners of Persian and Hindi", "علی\u200cرضا", "क्\u200dष", "علی\u200cرضا", "क्\u200dष"],
  [
    "100 characters, none of them halved",
    `${"A".repeat(99)}😀`,
    "😀".repeat(101),
    `${"A".repeat(99)}😀`,
    "😀".repeat(100),
  ],
  ["nothing that turns the text or that nobody sees", "A\u202enn", " \u200d ", "Ann", ""],
  ["no name of another type", "Ann", ["Lee"], "Ann", ""],
])("the name of a new person has %s", async (name, given_name, family_name, first, last) => {
  const sub = `n${name.length}`;
  expect(await namesOf(sub, { given_name, family_name })).toEqual([first, last]);
});

it("a directory gives a person names of 100 characters, none of them halved", async () => {
  const directory = await directoryOf(realm.app, realm.owner);
  const name = { givenName: `${"A".repeat(99)}😀B`, familyName: "😀".repeat(101) };
  await directory.user({ userName: "long@corp.test", name });
  expect(await namesOf("long")).toEqual([`${"A".repeat(99)}😀`, "😀".repeat(100)]);
});
