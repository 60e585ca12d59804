import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, member, tokenTo } from "../support/people.ts";
import { administrativeEventTypes } from "../../src/domains/event-catalogue/index.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1", SERVICE_MAGIC_LINK_DEV_ECHO: "1" } });
});
afterAll(() => app.close());

/** The administrative entries of an organization's log, newest first. */
async function actions(
  org: string,
  token: string,
): Promise<
  {
    type: string;
    actor: { type: string; id: string | null; email: string | null } | null;
    resource_type: string | null;
    resource_id: string | null;
  }[]
> {
  const { body } = await app.call("GET", `/api/organizations/${org}/audit-events?limit=500`, { token });
  return body.data.filter(({ type }: { type: string }) =>
    (administrativeEventTypes as readonly string[]).includes(type),
  );
}

test("every administrative event names its actor and its resource", async () => {
  const owner = await founder(app);
  const invited = await member(app, owner);
  await app.call("PATCH", `/api/organizations/${owner.org}`, {
    token: owner.token,
    body: { jit_domains: ["guests.test"] },
  });
  const { body: link } = await app.call("POST", "/api/auth/magic-link/send", {
    body: { email: "gil@guests.test", org_uuid: owner.org },
  });
  const { body: entered } = await app.call("POST", "/api/auth/magic-link/verify", { body: { token: link.dev_token } });
  await app.call("POST", "/api/auth/password/forgot", { body: { email: invited.email } });
  expect(
    (
      await app.call("POST", "/api/auth/password/reset", {
        body: { token: await tokenTo(app, invited.email), password: "quite another long one" },
      })
    ).status,
  ).toBe(204);
  await app.call("GET", `/api/organizations/${owner.org}/audit-events/export`, { token: owner.token });
  await app.call("PUT", `/api/users/${invited.userUuid}/role`, { token: owner.token, body: { role: "observer" } });
  const found = await actions(owner.org, owner.token);
  expect(
    found.filter(
      ({ actor, resource_type, resource_id }) => actor === null || resource_type === null || resource_id === null,
    ),
  ).toEqual([]);
  const by = (type: string) =>
    found
      .filter((one) => one.type === type)
      .map(({ actor, resource_type, resource_id }) => ({ actor, resource_type, resource_id }));
  const themselves = (id: string, email: string) => ({
    actor: { type: "user", id, email },
    resource_type: "user",
    resource_id: id,
  });
  const joined = by("user.joined");
  expect(joined).toHaveLength(2);
  expect(joined).toEqual(
    expect.arrayContaining([
      themselves(entered.user.user_uuid, "gil@guests.test"),
      themselves(invited.userUuid, invited.email),
    ]),
  );
  expect(by("user.updated")).toEqual([themselves(invited.userUuid, invited.email)]);
  expect(by("audit.exported")).toEqual([
    {
      actor: { type: "user", id: owner.userUuid, email: owner.email },
      resource_type: "organization",
      resource_id: owner.org,
    },
  ]);
});

test("events of the service itself have the actor system", async () => {
  const token = await app.login();
  const { body: me } = await app.call("GET", "/api/auth/me", { token });
  expect((await actions(me.org_uuid, token)).at(-1)).toMatchObject({
    type: "organization.created",
    actor: { type: "system", id: null, email: null },
    resource_id: me.org_uuid,
  });
});

test("the audit lists find what an actor caused by their id or email in any case", async () => {
  const owner = await founder(app);
  const admin = await member(app, owner, 1);
  const path = `/api/organizations/${owner.org}`;
  for (const [who, domain] of [
    [owner, "one.test"],
    [admin, "two.test"],
  ] as const)
    await app.call("PATCH", path, { token: who.token, body: { jit_domains: [domain] } });
  expect((await app.call("POST", "/api/auth/logout", { token: admin.token })).status).toBe(204);
  const types = async (list: string, actor: string): Promise<string[]> => {
    const query = new URLSearchParams({ actor }).toString();
    const { body } = await app.call("GET", `${list}?${query}`, { token: owner.token });
    expect(body.total).toBe(body.data.length);
    return body.data.map(({ type }: { type: string }) => type);
  };
  for (const actor of [admin.userUuid, admin.userUuid.toUpperCase(), admin.email, admin.email.toUpperCase()]) {
    expect(await types(`${path}/audit-events`, actor), actor).toEqual([
      "session.revoked",
      "organization.updated",
      "user.joined",
    ]);
    expect(await types("/api/auth/events", actor), actor).toEqual(["session.revoked"]);
  }
  expect(await types(`${path}/audit-events`, "nobody@acme.test")).toEqual([]);
});
