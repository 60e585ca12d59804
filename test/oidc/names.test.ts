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

it.each<[string, string, string, string]>([
  ["Ann Lee", "Ann Lee", "Ann", "Lee"],
  ["more than two words", " Maria  de la Cruz ", "Maria", "de la Cruz"],
  ["one word", "王秀英", "王秀英", ""],
  ["an address instead", "ann@corp.test", "", ""],
])("a provider that gives a whole name alone names a new person: %s", async (about, name, first, last) => {
  expect(await namesOf(`w${about.length}`, { name })).toEqual([first, last]);
});

it("a whole name does not count beside a given or a family name", async () => {
  expect(await namesOf("given", { given_name: "Ann", name: "Bob Roe" })).toEqual(["Ann", ""]);
  expect(await namesOf("family", { given_name: " ", family_name: "Lee", name: "Bob Roe" })).toEqual(["", "Lee"]);
});

it("a directory gives a person names of 100 characters, none of them halved", async () => {
  const directory = await directoryOf(realm.app, realm.owner);
  const name = { givenName: `${"A".repeat(99)}😀B`, familyName: "😀".repeat(101) };
  await directory.user({ userName: "long@corp.test", name });
  expect(await namesOf("long")).toEqual([`${"A".repeat(99)}😀`, "😀".repeat(100)]);
});

it("a directory that gives a name to show or a whole name alone names the person by it", async () => {
  const directory = await directoryOf(realm.app, realm.owner);
  await directory.user({ userName: "shown@corp.test", displayName: "Maria de la Cruz", name: { formatted: "Dr. M" } });
  expect(await namesOf("shown")).toEqual(["Maria", "de la Cruz"]);
  await directory.user({ userName: "whole@corp.test", name: { formatted: "Ann Lee" } });
  expect(await namesOf("whole")).toEqual(["Ann", "Lee"]);
  await directory.user({ userName: "parts@corp.test", displayName: "Bob Roe", name: { familyName: "Lee" } });
  expect(await namesOf("parts")).toEqual(["", "Lee"]);
});
