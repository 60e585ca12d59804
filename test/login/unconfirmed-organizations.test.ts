import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiKey, automationToken } from "../matrix/world.ts";
import { connect } from "../oidc/support.ts";
import { works } from "../sessions/support.ts";
import { issue } from "../spiffe/support.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { watchDeadlocks } from "../support/deadlocks.ts";
import { auditOf, elevated, founder, mailsTo, member, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

const { log, deadlocks } = watchDeadlocks();
let app: TestApp;
let second: TestApp;
beforeAll(async () => {
  const env = { SERVICE_OPEN_SIGNUP: "1", SERVICE_MAGIC_LINK_DEV_ECHO: "1" };
  app = await startApp({ env, log });
  second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock, log });
});
afterAll(async () => {
  await second.close();
  await app.close();
});

const post = (path: string, body: unknown, token?: string) => app.call("POST", path, { body, token });
const patch = (path: string, body: unknown, token: string) => app.call("PATCH", path, { body, token });
const rows = (sql: string) => runSql(app.databaseUrl, sql);

/** Proves the mailbox of an address; resolves to the token of the sign-in. */
async function openLink(email: string): Promise<string> {
  const { body: sent } = await post("/api/auth/magic-link/send", { email });
  const { status, body } = await post("/api/auth/magic-link/verify", { token: sent.dev_token });
  expect(status).toBe(200);
  return body.access_token as string;
}

describe("the first proof of an unconfirmed address", () => {
  /** An unconfirmed account, and everything by which its maker could come back into the organization. */
  async function equipped(sso_required: boolean) {
    const who = await founder(app);
    const { identityId, token: automation } = await automationToken(app, who);
    const { key } = await apiKey(app, { org: who.org, token: automation }, ["admin"]);
    const owner = await elevated(app, who.token);
    expect((await issue(app, { elevated: owner, identityId })).status).toBe(201);
    const connected = await connect(app, who, "https://provider.example.com/.well-known/openid-configuration");
    expect(connected.status).toBe(201);
    expect(outcome(await patch(`/api/organizations/${who.org}`, { sso_required }, owner))).toBe("200");
    return { ...who, automation, key };
  }

  it("the first proof ends service identities and single sign-on of an organization owned alone", async () => {
    const who = await equipped(true);
    expect([await works(app, who.automation), await works(app, who.key)]).toEqual([true, true]);
    const token = await openLink(who.email);
    expect([await works(app, who.automation), await works(app, who.key)]).toEqual([false, false]);
    expect(await rows(`select 1 from svids where org_uuid = '${who.org}' and revoked_at is null`)).toEqual([]);
    const list = async (path: string) => (await app.call("GET", path, { token })).body.data as unknown[];
    expect(await list(`/api/organizations/${who.org}/service-identities`)).toEqual([]);
    expect(await list(`/api/admin/organizations/${who.org}/oidc-connections`)).toEqual([]);
    expect((await app.call("GET", `/api/organizations/${who.org}`, { token })).body.sso_required).toBe(false);
    const reason = "mailbox_proven";
    const by = { org: who.org, token };
    expect(await auditOf(app, by, "service_identity.deleted")).toMatchObject([
      { metadata: { identities: 1, revoked_tokens: 1, revoked_svids: 1, reason } },
    ]);
    expect(await auditOf(app, by, "credential.revoked")).toMatchObject([{ metadata: { kind: "api_key", reason } }]);
    expect(await auditOf(app, by, "oidc_connection.deleted")).toMatchObject([{ metadata: { reason } }]);
    expect((await auditOf(app, by, "organization.updated"))[0]).toMatchObject({
      metadata: { before: { sso_required: true }, after: { sso_required: false }, reason },
    });
  });

  it("the first proof ends the joining by mail domain, so that nobody joins by a link of before", async () => {
    const [who, shared] = [await founder(app), await founder(app)];
    const domain = `${randomUUID()}.test`;
    for (const { org, token } of [who, shared])
      expect(outcome(await patch(`/api/organizations/${org}`, { jit_domains: [domain] }, token))).toBe("200");
    const other = await member(app, shared, 1);
    const owner = await elevated(app, shared.token);
    expect(outcome(await patch(`/api/users/${other.userUuid}`, { is_owner: true }, owner))).toBe("200");
    const { body: link } = await post("/api/auth/magic-link/send", { email: `ann@${domain}`, org_uuid: who.org });
    const token = await openLink(who.email);
    const domainsOf = async (org: string, by: string) =>
      (await app.call("GET", `/api/organizations/${org}`, { token: by })).body.jit_domains as string[];
    expect(await domainsOf(who.org, token)).toEqual([]);
    expect((await auditOf(app, { org: who.org, token }, "organization.updated"))[0]).toMatchObject({
      metadata: { before: { jit_domains: [domain] }, after: { jit_domains: [] }, reason: "mailbox_proven" },
    });
    const { body: ann } = await post("/api/auth/magic-link/verify", { token: link.dev_token });
    const { body: joined } = await app.call("GET", "/api/organizations", { token: ann.access_token });
    expect(joined.total).toBe(0);
    expect(await domainsOf(shared.org, await openLink(shared.email))).toEqual([domain]);
  });

  it("the first proof leaves service identities and single sign-on where there is another owner", async () => {
    const who = await equipped(false);
    const other = await member(app, who, 1);
    const owner = await elevated(app, who.token);
    expect(outcome(await patch(`/api/users/${other.userUuid}`, { is_owner: true }, owner))).toBe("200");
    await openLink(who.email);
    expect([await works(app, who.automation), await works(app, who.key)]).toEqual([true, true]);
    expect(await rows(`select 1 from oidc_connections where org_uuid = '${who.org}'`)).toHaveLength(1);
  });

  it("the first proof also ends what requests of service identities create meanwhile", async () => {
    for (let round = 0; round < 5; round++) {
      const who = await equipped(true);
      const { body: link } = await post("/api/auth/magic-link/send", { email: who.email });
      const late = (path: string, body: object, token: string) => second.call("POST", path, { token, body });
      const making = [who.automation, who.key, who.automation].flatMap((token) => [
        late(`/api/admin/organizations/${who.org}/api-keys`, { name: "late", scopes: ["admin"] }, token),
        late(`/api/admin/organizations/${who.org}/scim-tokens`, {}, token),
        late(`/api/organizations/${who.org}/service-identities`, { name: randomUUID(), role_id: 1 }, token),
      ]);
      const [opened] = await Promise.all([post("/api/auth/magic-link/verify", { token: link.dev_token }), ...making]);
      expect(opened.status).toBe(200);
      for (const [table, living] of [
        ["service_identities", "deleted_at"],
        ["automation_tokens", "revoked_at"],
        ["api_keys", "revoked_at"],
        ["scim_tokens", "revoked_at"],
      ] as const)
        expect(await rows(`select 1 from ${table} where org_uuid = '${who.org}' and ${living} is null`), table).toEqual(
          [],
        );
    }
    expect(deadlocks).toEqual([]);
  });
});

describe("POST /api/auth/email/disown for the only owner of an organization", () => {
  async function disown(email: string, by = app): Promise<string> {
    const token = /\/disown#token=([\w-]+)/u.exec((await mailsTo(app, email)).at(-1)?.text ?? "")?.[1];
    return outcome(await by.call("POST", "/api/auth/email/disown", { body: { token } }));
  }

  /** Members with roles, who joined one after the other. */
  async function joined<const R extends readonly number[]>(
    by: Somebody,
    ...roles: R
  ): Promise<{ [At in keyof R]: Somebody }> {
    const members: Somebody[] = [];
    for (const role of roles) {
      app.clock.advance(1_000);
      members.push(await member(app, by, role));
    }
    return members as never;
  }

  /** The owners that a member sees with fresh claims, with their roles. */
  async function ownersSeenBy(who: Somebody) {
    const { body: pair } = await post("/api/auth/refresh", { refresh_token: who.refreshToken });
    const token = pair.access_token as string;
    const { body } = await app.call("GET", "/api/users", { token });
    const owners = (body.data as { user_uuid: string; is_owner: boolean; role: string }[])
      .filter(({ is_owner }) => is_owner)
      .map(({ user_uuid, role }) => [user_uuid, role]);
    return { owners, token };
  }

  it("disowning passes ownership to the admin who joined first", async () => {
    const who = await founder(app);
    const [, first, late] = await joined(who, 3, 1, 1);
    expect(await disown(who.email)).toBe("204");
    const { owners, token } = await ownersSeenBy(first);
    expect(owners).toEqual([[first.userUuid, "admin"]]);
    expect(await auditOf(app, { org: who.org, token }, "user.updated")).toMatchObject([
      {
        resource_id: first.userUuid,
        metadata: { before: { is_owner: false }, after: { is_owner: true }, reason: "last_owner_left" },
      },
    ]);
    expect(await works(app, first.token)).toBe(false);
    expect(await works(app, late.token)).toBe(true);
    expect(outcome(await patch(`/api/users/${late.userUuid}`, { is_owner: true }, await elevated(app, token)))).toBe(
      "200",
    );
  });

  it("disowning passes ownership to the active member who joined first where no admin is active", async () => {
    const who = await founder(app);
    const [admin, leaver, first, late] = await joined(who, 1, 2, 3, 2);
    for (const { userUuid } of [admin, leaver])
      expect(outcome(await patch(`/api/users/${userUuid}`, { status: "inactive" }, who.token))).toBe("200");
    expect(await disown(who.email)).toBe("204");
    const { owners, token } = await ownersSeenBy(first);
    expect(owners).toEqual([[first.userUuid, "admin"]]);
    expect((await auditOf(app, { org: who.org, token }, "role.assigned"))[0]).toMatchObject({
      resource_id: first.userUuid,
      metadata: { before: { role: "employee" }, after: { role: "admin", is_owner: true }, reason: "last_owner_left" },
    });
    expect(await works(app, late.token)).toBe(true);
  });

  it("disowning ends an organization whose other members are all inactive", async () => {
    const who = await founder(app);
    const [other] = await joined(who, 1);
    expect(outcome(await patch(`/api/users/${other.userUuid}`, { status: "inactive" }, who.token))).toBe("200");
    expect(await disown(who.email)).toBe("204");
    expect(await rows(`select 1 from organizations where uuid = '${who.org}' and deleted_at is null`)).toEqual([]);
  });

  it("disowning makes nobody owner where there is another active one", async () => {
    const who = await founder(app);
    const [, owner] = await joined(who, 1, 1);
    const body = { is_owner: true };
    expect(outcome(await patch(`/api/users/${owner.userUuid}`, body, await elevated(app, who.token)))).toBe("200");
    expect(await disown(who.email)).toBe("204");
    expect((await ownersSeenBy(owner)).owners).toEqual([[owner.userUuid, "admin"]]);
  });

  it("disowning leaves no organization without an owner when the only other member leaves at that moment", async () => {
    for (let round = 0; round < 6; round++) {
      const who = await founder(app);
      const [other] = await joined(who, 1);
      const [disowned] = await Promise.all([
        disown(who.email),
        second.call("DELETE", `/api/users/${other.userUuid}`, { token: other.token }),
      ]);
      expect(disowned).toBe("204");
      const ownerless = `select 1 from organizations o where o.uuid = '${who.org}' and o.deleted_at is null
        and not exists (select 1 from memberships where org_uuid = o.uuid and is_owner and status = 'active')`;
      expect(await rows(ownerless)).toEqual([]);
    }
    expect(deadlocks).toEqual([]);
  });
});
