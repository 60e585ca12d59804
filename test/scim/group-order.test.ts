import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { sendInTurn } from "../support/holding.ts";
import { founder } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { directoryOf, GROUP_URN } from "./support.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
});
afterAll(() => app.close());

it("two invited users of the same groups get other addresses at once, without a deadlock", async () => {
  const directory = await directoryOf(app, await founder(app));
  const invited = async (): Promise<string> => {
    const { email } = await founder(app);
    return (await directory.user({ userName: email, emails: [{ value: email, primary: true }] })).id as string;
  };
  const [ann, bob] = [await invited(), await invited()];
  const groups: string[] = [];
  for (const displayName of ["one", "two", "three"])
    groups.push((await directory.call("POST", "/Groups", { schemas: [GROUP_URN], displayName })).body.id as string);
  groups.sort();
  // They joined the groups in opposite orders, in which their rows are read.
  for (const [user, order] of [
    [ann, groups],
    [bob, groups.toReversed()],
  ] as const)
    for (const group of order)
      await directory.patch(`/Groups/${group}`, { op: "add", path: "members", value: [{ value: user }] });

  const move = (user: string) => () =>
    runSql(app.databaseUrl, "update people set email_key = uuid || '@moved.test' where uuid = $1 returning 1", [user]);
  const middle = "select 1 from scim_groups where group_uuid = $1 for update";
  const moved = await sendInTurn(app.databaseUrl, [middle, groups[1]], move(ann), move(bob));

  expect(moved.map((rows) => rows.length)).toEqual([1, 1]);
  expect((await directory.call("GET", `/Groups/${groups[1]}`)).body.members ?? []).toEqual([]);
});
