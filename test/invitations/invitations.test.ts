import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { auditOf, founder, invite, member, newcomer, outcome, tokenTo } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  owner = await founder(app);
});
afterAll(() => app.close());

const path = (org: string) => `/api/admin/organizations/${org}/invitations`;
const list = async (by: Somebody, query = "") => app.call("GET", `${path(by.org)}${query}`, { token: by.token });

describe("invitations", () => {
  it("invitations are created, listed newest first without their tokens, and withdrawn", async () => {
    const by = await founder(app);
    const first = await invite(app, by, "one@guests.test", 2);
    app.clock.advance(1000);
    const other = await invite(app, by, "two@guests.test");
    expect(Object.keys(first.answer.body).sort()).toEqual([
      "created_at",
      "email",
      "expires_at",
      "invitation_id",
      "invited_by",
      "role",
      "role_id",
      "status",
    ]);
    expect(first.answer.body).toMatchObject({
      email: "one@guests.test",
      role_id: 2,
      role: "manager",
      status: "pending",
      invited_by: by.userUuid,
    });
    expect(Date.parse(first.answer.body.expires_at) - Date.parse(first.answer.body.created_at)).toBe(7 * 86_400_000);
    const { body } = await list(by);
    expect(body).toMatchObject({ total: 2, limit: 50, offset: 0 });
    expect((body.data as { invitation_id: string }[]).map((item) => item.invitation_id)).toEqual([other.id, first.id]);
    expect(JSON.stringify(body)).not.toContain(first.token);
    expect((await list(by, "?limit=1&offset=1")).body).toMatchObject({ total: 2, data: [{ invitation_id: first.id }] });
    expect((await app.call("DELETE", `${path(by.org)}/${first.id}`, { token: by.token })).status).toBe(204);
    expect(outcome(await app.call("DELETE", `${path(by.org)}/${first.id}`, { token: by.token }))).toBe(
      "404 invitation_not_found",
    );
    expect(outcome(await app.call("GET", `/api/auth/invite/${first.token}`))).toBe("404 invitation_not_found");
    expect(
      outcome(await app.call("POST", "/api/auth/invite/accept", { body: { token: first.token, ...newcomer() } })),
    ).toBe("404 invitation_not_found");
    expect((await list(by)).body.data.map((item: { status: string }) => item.status)).toEqual(["pending", "withdrawn"]);
    expect((await auditOf(app, by, "user.invited")).map(({ metadata }) => metadata["email"])).toContain(
      "one@guests.test",
    );
  });

  it("an invitation replaces the open one for the same email, in any case", async () => {
    const by = await founder(app);
    const first = await invite(app, by, "again@guests.test", 1);
    const next = await invite(app, by, "AGAIN@guests.test", 4);
    expect(outcome(await app.call("GET", `/api/auth/invite/${first.token}`))).toBe("404 invitation_not_found");
    expect((await app.call("GET", `/api/auth/invite/${next.token}`)).body).toMatchObject({ role: "observer" });
    expect((await list(by)).body.data.map((item: { status: string }) => item.status).sort()).toEqual([
      "pending",
      "replaced",
    ]);
  });

  it("concurrent invitations of one email leave one open", async () => {
    const by = await founder(app);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        app.call("POST", path(by.org), { token: by.token, body: { email: "many@guests.test", role_id: 3 } }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(201));
    expect((await list(by)).body.data.filter((item: { status: string }) => item.status === "pending")).toHaveLength(1);
  });

  it.each([
    [{ email: "x@guests.test", role_id: 99 }, "404 role_not_found"],
    [{ email: "x@guests.test", role_id: 4_294_967_295 }, "404 role_not_found"],
    [{ email: "x@guests.test" }, "400 validation_error"],
    [{ email: "a@b.test, c@d.test", role_id: 3 }, "400 validation_error"],
    [{ email: "a@b.test\r\nBcc: c@d.test", role_id: 3 }, "400 validation_error"],
    [{ role_id: 3 }, "400 validation_error"],
  ])("an invitation is refused for %j", async (body, expected) => {
    expect(outcome(await app.call("POST", path(owner.org), { token: owner.token, body }))).toBe(expected);
  });

  it("only administrators of the organization can invite", async () => {
    const employee = await member(app, owner);
    const stranger = await founder(app);
    const { id } = await invite(app, owner, "guarded@guests.test");
    for (const [method, at] of [
      ["POST", path(owner.org)],
      ["GET", path(owner.org)],
      ["DELETE", `${path(owner.org)}/${id}`],
    ] as const) {
      const body = method === "POST" ? { email: "x@guests.test", role_id: 3 } : undefined;
      expect(outcome(await app.call(method, at, { token: employee.token, body })), method).toBe("403 forbidden");
      expect(outcome(await app.call(method, at, { token: stranger.token, body })), method).toBe("404 not_found");
      expect(outcome(await app.call(method, at, { body })), method).toBe("401 unauthorized");
    }
    expect(outcome(await app.call("DELETE", `${path(stranger.org)}/${id}`, { token: stranger.token }))).toBe(
      "404 invitation_not_found",
    );
    expect((await app.call("GET", `/api/auth/invite/${await tokenTo(app, "guarded@guests.test")}`)).status).toBe(200);
  });

  it("an Idempotency-Key creates one invitation", async () => {
    const by = await founder(app);
    const once = () =>
      app.call("POST", path(by.org), {
        token: by.token,
        body: { email: "once@guests.test", role_id: 3 },
        headers: { "idempotency-key": "k1" },
      });
    const [first, again] = [await once(), await once()];
    expect(again.body).toEqual(first.body);
    expect((await list(by)).body.total).toBe(1);
  });
});
