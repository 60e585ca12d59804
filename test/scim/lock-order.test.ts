import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { watchDeadlocks } from "../support/deadlocks.ts";
import { holding } from "../support/holding.ts";
import type { Held } from "../support/holding.ts";
import { founder } from "../support/people.ts";
import { directoryOf, GROUP_URN, refusal, USER_URN } from "./support.ts";
import type { Directory } from "./support.ts";

// A directory sends its requests in parallel, with one token.
const { log, deadlocks } = watchDeadlocks();
let app: TestApp;
let directory: Directory;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" }, log });
  directory = await directoryOf(app, await founder(app));
});
afterAll(() => app.close());

const created = async (name: string): Promise<string> => (await directory.user({ userName: `${name}@corp.test` })).id;

/** The outcomes of requests, each sent when those before wait for a lock. */
async function outcomes(held: Held, ...requests: (() => Promise<Answer>)[]): Promise<string[]> {
  const sent: Promise<Answer>[] = [];
  for (const send of requests) {
    sent.push(send());
    await held.waitedFor(sent.length);
  }
  await held.commit();
  return (await Promise.all(sent)).map(refusal);
}

test("a directory changes a group while it deletes a user who is in it, without a deadlock", async () => {
  const [leaver, joiner] = [await created("leaver"), await created("joiner")];
  const group = { schemas: [GROUP_URN], displayName: "Crew", members: [{ value: leaver }] };
  const made = await directory.call("POST", "/Groups", group);
  const path = `/Groups/${made.body.id as string}`;

  const held = await holding(app.databaseUrl);
  // The change has locked the group by then, and comes to the token last.
  await held.run("select 1 from scim_users where user_uuid = $1 for update", [joiner]);
  const all = await outcomes(
    held,
    () => directory.patch(path, { op: "add", path: "members", value: [{ value: joiner }] }),
    () => directory.call("DELETE", `/Users/${leaver}`),
  );
  expect(all).toEqual(["200", "204"]);
  expect(deadlocks).toEqual([]);
  const { body } = await directory.call("GET", path);
  expect(body.members.map(({ value }: { value: string }) => value)).toEqual([joiner]);
});

test("a directory creates a user while it deactivates another, without a deadlock", async () => {
  const user = await created("ending");
  const held = await holding(app.databaseUrl);
  // The creation has locked the number of members by then, and comes to the token last.
  await held.run("select 1 from scim_tokens for update");
  const all = await outcomes(
    held,
    () => directory.patch(`/Users/${user}`, { op: "replace", value: { active: false } }),
    () => directory.call("POST", "/Users", { schemas: [USER_URN], userName: "beginning@corp.test" }),
  );
  expect(all).toEqual(["200", "201"]);
  expect(deadlocks).toEqual([]);
});
