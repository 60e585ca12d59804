import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import { directoryOf } from "./support.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
});
afterAll(() => app.close());

interface Logged {
  type: string;
  outcome: string;
  actor: { type: string };
}

test("every write of a directory is in the log of its organization, by its token", async () => {
  const [owner, known] = [await founder(app), await founder(app)];
  const directory = await directoryOf(app, owner);
  let seen = 0;
  /** Sends a write; returns the id in the answer, and the events by the directory's token that it has added. */
  const write = async (method: string, path: string, body?: unknown): Promise<[id: string, events: string]> => {
    const answer = await directory.call(method, path, body);
    expect(answer.status, answer.text).toBeLessThan(300);
    const log = `/api/organizations/${owner.org}/audit-events?sort=created_at&outcome=success`;
    const { data } = (await app.call("GET", log, { token: owner.token })).body as { data: Logged[] };
    const types = data.filter(({ actor }) => actor.type === "scim_token").map(({ type }) => type);
    const added = types.slice(seen).sort().join(", ");
    seen = types.length;
    return [(answer.body?.id ?? "") as string, added];
  };
  const [user, created] = await write("POST", "/Users", { userName: "ann@scim.test" });
  const [guest, invited] = await write("POST", "/Users", { userName: known.email });
  const [group, grouped] = await write("POST", "/Groups", { displayName: "Team" });
  expect([created, invited, grouped]).toEqual([
    "scim.user.created",
    "scim.user.created, user.invited",
    "scim.group.created",
  ]);
  const members = { Operations: [{ op: "add", path: "members", value: [{ value: user }] }] };
  for (const [method, path, body, events] of [
    ["PATCH", `/Groups/${group}`, members, "scim.group.updated"],
    ["PUT", `/Users/${user}`, { userName: "ann@scim.test", active: false }, "scim.user.updated, user.updated"],
    ["DELETE", `/Groups/${group}`, undefined, "scim.group.deleted"],
    ["DELETE", `/Users/${user}`, undefined, "scim.user.deleted, user.removed"],
    ["DELETE", `/Users/${guest}`, undefined, "scim.user.deleted, user.invited"],
  ] as const)
    expect((await write(method, path, body))[1], `${method} ${path}`).toBe(events);
});
