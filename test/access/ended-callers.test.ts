import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { holding } from "../support/holding.ts";
import { elevated, founder, member } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  owner = await founder(app);
});
afterAll(() => app.close());

const role = (token: string) =>
  app.call("POST", "/api/v2/products/any/roles", { token, body: { name: `role ${Math.random()}`, permissions: [] } });
const rolesNow = async (): Promise<number> =>
  (await app.call("GET", "/api/roles", { token: owner.token })).body.length as number;

/**
 * What ends or lessens a caller, as statements of a transaction that has not been committed when the caller's write
 * begins.
 */
const ends: Record<string, [sql: string, params: (who: Somebody) => unknown[]]> = {
  "a removal": [
    "update memberships set status = 'removed', version = version + 1 where org_uuid = $1 and user_uuid = $2",
    (who) => [owner.org, who.userUuid],
  ],
  "a deactivation": [
    "update memberships set status = 'inactive', version = version + 1 where org_uuid = $1 and user_uuid = $2",
    (who) => [owner.org, who.userUuid],
  ],
  "a demotion": [
    "update memberships set role_id = 3, version = version + 1 where org_uuid = $1 and user_uuid = $2",
    (who) => [owner.org, who.userUuid],
  ],
  "the end of the session": [
    "update sessions set revoked_at = created_at where user_uuid = $1",
    (who) => [who.userUuid],
  ],
};

describe("a write that is under way", () => {
  it.each(Object.keys(ends))("a write in flight commits nothing after %s of its caller", async (what) => {
    const ann = await member(app, owner, 1);
    const before = await rolesNow();
    const [sql, params] = ends[what] ?? ["", () => []];
    const held = await holding(app.databaseUrl);
    await held.run(sql, params(ann));
    const late = role(ann.token);
    await held.waitedFor();
    await held.commit();
    expect((await late).body).toMatchObject({ status: 401, code: "unauthorized" });
    expect(await rolesNow()).toBe(before);
  });

  it("a write that waits for a lock commits nothing after the removal of its caller", async () => {
    const ann = await member(app, owner, 1);
    const held = await holding(app.databaseUrl);
    await held.run("lock table roles in exclusive mode");
    const write = role(ann.token);
    await held.waitedFor();
    expect((await app.call("DELETE", `/api/users/${ann.userUuid}`, { token: owner.token })).status).toBe(204);
    await held.commit();
    expect((await write).status).toBe(401);
  });

  it("of two admins who remove each other at once, one removes and the other is removed", async () => {
    const [ann, bea] = [await member(app, owner, 1), await member(app, owner, 1)];
    const remove = (by: Somebody, whom: Somebody) =>
      app.call("DELETE", `/api/users/${whom.userUuid}`, { token: by.token });
    const statuses = await Promise.all([remove(ann, bea), remove(bea, ann)]);
    expect(statuses.map(({ status }) => status).sort()).toEqual([204, 401]);
  });
});

describe("callers who end what they stand on", () => {
  it("a session that logs out five times at once ends once", async () => {
    const ann = await member(app, owner, 1);
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => app.call("POST", "/api/auth/logout", { token: ann.token })),
    );
    const codes = answers.map(({ status, body }) => (status < 300 ? "ended" : (body.code as string)));
    expect(codes).toContain("ended");
    expect(codes.filter((code) => code !== "ended" && code !== "unauthorized")).toEqual([]);
  });

  it("callers may leave, give up their role and end every session, their own included", async () => {
    const [ann, bea, cay] = [await member(app, owner, 1), await member(app, owner, 1), await member(app, owner, 1)];
    expect((await app.call("DELETE", `/api/users/${ann.userUuid}`, { token: ann.token })).status).toBe(204);
    expect(
      (await app.call("PUT", `/api/users/${bea.userUuid}/role`, { token: bea.token, body: { role: "employee" } }))
        .status,
    ).toBeLessThan(300);
    const all = await app.call("POST", `/api/organizations/${owner.org}/revoke-all-sessions`, {
      token: await elevated(app, cay.token),
    });
    expect(all.status).toBe(200);
  });
});
