import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { directoryOf } from "../scim/support.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { holding } from "../support/holding.ts";
import { auditOf, founder, invite, member, newcomer, outcome, tokenTo } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  owner = await founder(app);
});
afterAll(() => app.close());

let sent = 0;
const address = (): string => `invited${++sent}@people.test`;
const accept = async (token: string): Promise<string> =>
  outcome(await app.call("POST", "/api/auth/invite/accept", { body: { token, ...newcomer() } }));
const statusOf = async (id: string): Promise<string> => {
  const { body } = await app.call("GET", `/api/admin/organizations/${owner.org}/invitations`, { token: owner.token });
  return (
    (body.data as { invitation_id: string; status: string }[]).find(({ invitation_id }) => invitation_id === id)
      ?.status ?? "none"
  );
};
const patch = (of: Somebody, status: string) =>
  app.call("PATCH", `/api/users/${of.userUuid}`, { token: owner.token, body: { status } });
const setRole = (of: Somebody, role: string) =>
  app.call("PUT", `/api/users/${of.userUuid}/role`, { token: owner.token, body: { role } });

describe("an open invitation", () => {
  it.each<[string, (who: Somebody) => Promise<unknown>]>([
    ["removed", (who) => app.call("DELETE", `/api/users/${who.userUuid}`, { token: owner.token })],
    ["gone of their own accord", (who) => app.call("DELETE", `/api/users/${who.userUuid}`, { token: who.token })],
    [
      "made inactive, even if they come back",
      async (who) => [await patch(who, "inactive"), await patch(who, "active")],
    ],
    [
      "made inactive by a directory, even if they come back",
      async ({ userUuid }) => {
        const { patch: change } = await directoryOf(app, owner);
        for (const value of [false, true]) await change(`/Users/${userUuid}`, { op: "replace", path: "active", value });
      },
    ],
    ["removed by a directory", async (who) => (await directoryOf(app, owner)).call("DELETE", `/Users/${who.userUuid}`)],
  ])("an open invitation is withdrawn when its sender is %s", async (_what, end) => {
    const ann = await member(app, owner, 1);
    const { id, token } = await invite(app, ann, address(), 1);
    await end(ann);
    expect([await statusOf(id), await accept(token)]).toEqual(["withdrawn", "404 invitation_not_found"]);
    const [event] = (await auditOf(app, owner, "user.invited")).filter(
      ({ metadata }) => metadata["withdrawn"] === true,
    );
    expect(event).toMatchObject({ resource_id: ann.userUuid, metadata: { invitations: 1 } });
  });

  it("an open invitation is refused and listed as withdrawn while its sender could not grant the role", async () => {
    const ann = await member(app, owner, 1);
    const { id, token } = await invite(app, ann, address(), 1);
    const show = async (): Promise<string> => outcome(await app.call("GET", `/api/auth/invite/${token}`));
    expect([await show(), await statusOf(id)]).toEqual(["200", "pending"]);
    await setRole(ann, "manager");
    expect([await show(), await accept(token)]).toEqual(["404 invitation_not_found", "404 invitation_not_found"]);
    expect(await statusOf(id)).toBe("withdrawn");
    await setRole(ann, "admin");
    expect([await show(), await statusOf(id)]).toEqual(["200", "pending"]);
    expect(await accept(token)).toBe("200");
    await setRole(ann, "manager");
    expect(await statusOf(id)).toBe("accepted");
  });

  it("an invitation by a key counts as its maker's", async () => {
    const ann = await member(app, owner, 1);
    const { body: key } = await app.call("POST", `/api/admin/organizations/${owner.org}/api-keys`, {
      token: ann.token,
      body: { name: "k", scopes: ["admin"] },
    });
    const by = { org: owner.org, token: key.api_key as string };
    const email = address();
    expect((await invite(app, by, email, 3)).answer.status).toBe(201);
    await setRole(ann, "employee");
    expect(await accept(await tokenTo(app, email))).toBe("404 invitation_not_found");
  });

  it("an invitation is refused when its sender is removed concurrently", async () => {
    const ann = await member(app, owner, 1);
    const { token } = await invite(app, ann, address(), 1);
    const held = await holding(app.databaseUrl);
    await held.run(
      "update memberships set status = 'removed', version = version + 1 where org_uuid = $1 and user_uuid = $2",
      [owner.org, ann.userUuid],
    );
    const late = accept(token);
    await held.waitedFor();
    await held.commit();
    expect(await late).toBe("404 invitation_not_found");
  });
});
