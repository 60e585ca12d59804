import { randomUUID } from "node:crypto";
import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { auditOf, elevated, founder, invite, member, outcome, tokenTo } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { codeAt } from "../mfa/support.ts";
import { runSql } from "../support/postgres.ts";
import { begin, callbackOf, comeBack, connect, granted } from "./support.ts";
import { sessionTokenOf, signIn, startRealm, subject } from "./support.ts";
import type { Realm } from "./support.ts";

let realm: Realm;
beforeAll(async () => {
  realm = await startRealm({ env: { SERVICE_MAGIC_LINK_DEV_ECHO: "1" } });
});
afterAll(() => realm.close());

const post = (path: string, body: unknown, token?: string, headers: Record<string, string> = {}) =>
  realm.app.call("POST", path, { body, token, headers });
const switchTo = (token: string, org_uuid: string) => post("/api/auth/switch", { org_uuid }, token);

/** A bearer token by which a person proves their mailbox. */
async function byMail(email: string, device: string = randomUUID(), org_uuid?: string): Promise<string> {
  const sent = await post("/api/auth/magic-link/send", { email, org_uuid });
  const headers = { "x-device-uuid": device };
  const { body } = await post("/api/auth/magic-link/verify", { token: sent.body.dev_token }, undefined, headers);
  return body.access_token as string;
}

/** A bearer token by which the provider signs somebody in. */
async function byProvider(sub: string): Promise<string> {
  const { status, body } = await signIn(realm, subject(sub));
  expect(status).toBe(200);
  return body.access_token as string;
}

async function link(sub: string, token: string): Promise<string> {
  const { cookie, answer } = await callbackOf(realm, subject(sub));
  return outcome(await post("/api/auth/oidc/link", { session_token: sessionTokenOf(answer) }, token, { cookie }));
}

/** Somebody whom the provider has made, and who is a member of another organization too. */
async function memberOfTwo(sub: string): Promise<{ other: Somebody; email: string }> {
  const [other, email] = [await founder(realm.app), `${sub}@corp.test`];
  await byProvider(sub);
  const bearer = await byMail(email);
  await byProvider(sub);
  const { token } = await invite(realm.app, other, email);
  expect(outcome(await post("/api/auth/invite/accept", { token }, bearer))).toBe("200");
  return { other, email };
}

describe("a session by an identity that the provider has linked", () => {
  it("it does not enter the organization that the owner of a planted account founds", async () => {
    await byProvider("planted");
    const claimed = await byMail("planted@corp.test");
    // The provider links the account again, which has no other organization yet.
    await byProvider("planted");
    const founded = await post("/api/organizations", { name: "The victim's own" }, claimed);
    expect(founded.status).toBe(201);
    const thief = await byProvider("planted");
    expect(outcome(await switchTo(thief, founded.body.org_uuid))).toBe("403 link_required");
    // Nor by way of an organization of the thief's own, or of a link that the provider's session makes.
    const way = await post("/api/organizations", { name: "The thief's own" }, thief);
    expect(outcome(await switchTo(way.body.access_token, founded.body.org_uuid))).toBe("403 link_required");
    expect(outcome(await switchTo(way.body.access_token, realm.owner.org))).toBe("200");
    expect(await link("planted", thief)).toBe("204");
    expect(outcome(await switchTo(await byProvider("planted"), founded.body.org_uuid))).toBe("403 link_required");
  });

  it("links no identity of another organization's provider, which would sign somebody else in there", async () => {
    const { app, provider } = realm;
    const { other, email } = await memberOfTwo("borrowed");
    const { body } = await connect(app, other, provider.discoveryUrl);
    provider.subject = subject("stranger");
    const connection = body.connection_uuid as string;
    const begun = await begin(realm, {}, connection);
    const answer = await comeBack(realm, begun.cookie, granted(realm, begun), connection);
    const redemption = { session_token: sessionTokenOf(answer) };
    const linkBy = async (token: string) =>
      outcome(await post("/api/auth/oidc/link", redemption, token, { cookie: begun.cookie }));
    expect(await linkBy(await byProvider("borrowed"))).toBe("403 link_required");
    expect(await linkBy(await byMail(email))).toBe("204");
  });

  it("it enters other organizations once the person has linked the identity themselves, and comes back", async () => {
    const { app, owner } = realm;
    const { other, email } = await memberOfTwo("roamer");
    expect(outcome(await switchTo(await byProvider("roamer"), other.org))).toBe("403 link_required");
    const links = async () => (await auditOf(app, owner, "oidc_connection.linked")).length;
    const before = await links();
    for (let time = 0; time < 2; time++) expect(await link("roamer", await byMail(email))).toBe("204");
    expect(await links()).toBe(before + 1);
    const there = await switchTo(await byProvider("roamer"), other.org);
    expect(outcome(there)).toBe("200");
    expect(decodeJwt(there.body.access_token)).toMatchObject({ org: other.org, amr: ["fed"] });

    const require = async (sso_required: boolean) =>
      app.call("PATCH", `/api/organizations/${owner.org}`, {
        token: await elevated(app, owner.token),
        body: { sso_required },
      });
    await require(true);
    expect(outcome(await switchTo(there.body.access_token, owner.org))).toBe("200");
    await require(false);
  });

  it("it enters an account added on a device only once the person has linked the identity themselves", async () => {
    const { app, owner } = realm;
    const [device, colleague] = [randomUUID(), await member(app, owner)];
    const { other, email } = await memberOfTwo("shared");
    const bearer = await byMail(email, device);
    const add = async (token: string) =>
      (await post(`/api/devices/${device}/accounts`, { access_token: token }, bearer)).body.id as string;
    const [foreign, near] = [await add(other.token), await add(colleague.token)];
    const enter = async (token: string, account_id: string) =>
      outcome(await post(`/api/devices/${device}/active-account`, { account_id }, token));
    const provided = await byProvider("shared");
    expect(await enter(provided, foreign)).toBe("403 link_required");
    for (const [token, id] of [
      [provided, near],
      [bearer, foreign],
    ] as const)
      expect(await enter(token, id)).toBe("200");
    expect(await link("shared", await byMail(email))).toBe("204");
    expect(await enter(await byProvider("shared"), foreign)).toBe("200");
  });

  it("confirms no address by a second factor that was added with it", async () => {
    const { app } = realm;
    const enrolled = await byProvider("hostage");
    const { id, secret } = (await post("/api/v1/me/mfa/factors", { factor_type: "totp" }, enrolled)).body.data;
    const code = () => codeAt(secret as string, app.clock.now());
    expect((await post(`/api/v1/me/mfa/factors/${id}/verify`, { code: code() }, enrolled)).status).toBe(200);
    const sent = await post("/api/auth/magic-link/send", { email: "hostage@corp.test" });
    const proven = await post("/api/auth/magic-link/verify", { token: sent.body.dev_token });
    expect(proven.body).toMatchObject({ mfa_required: true });
    app.clock.advance(30_000);
    const { body } = await signIn(realm, subject("hostage"));
    const challenge = { mfa_token: body.mfa_token, code: code() };
    expect((await post("/api/auth/mfa/totp/challenge", challenge)).status).toBe(200);
    const sql = `select email_confirmed_at is null as open, mailbox_proven_at is not null as proven
      from people where email = $1`;
    expect(await runSql(app.databaseUrl, sql, ["hostage@corp.test"])).toEqual([{ open: true, proven: true }]);
  });

  it("adds no first factor for a member of another organization before a step-up", async () => {
    const { email } = await memberOfTwo("locked");
    const provided = await byProvider("locked");
    const enrol = (token: string) => post("/api/v1/me/mfa/factors", { factor_type: "totp" }, token);
    expect(outcome(await enrol(provided))).toBe("403 step_up_required");
    // Nor through an organization that was founded with it.
    const way = await post("/api/organizations", { name: "A way to the factors" }, provided);
    expect(outcome(await enrol(way.body.access_token))).toBe("403 step_up_required");
    const { challenge_id } = (await post("/api/auth/step-up/challenge", { method: "magic_link" }, provided)).body;
    const answer = { challenge_id, token: await tokenTo(realm.app, email) };
    expect((await post("/api/auth/step-up/verify", answer, provided)).status).toBe(200);
    expect((await enrol(provided)).status).toBe(201);
    await byProvider("alone");
    expect((await enrol(await byProvider("alone"))).status).toBe(201);
    await memberOfTwo("linked");
    expect(await link("linked", await byMail("linked@corp.test"))).toBe("204");
    expect((await enrol(await byProvider("linked"))).status).toBe(201);
  });

  it.each<[string, (provided: string, other: Somebody, device: string) => Promise<string>]>([
    [
      "founded an organization",
      async (provided) => (await post("/api/organizations", { name: randomUUID() }, provided)).body.access_token,
    ],
    [
      "was switched from, and ended by exclude_current",
      async (provided, { org }) => {
        const { body } = await switchTo(provided, org);
        const own = (await realm.app.call("GET", "/api/auth/sessions", { token: body.access_token })).body.data;
        const { device_uuid: device } = (own as { current: boolean; device_uuid: string }[]).find(
          ({ current }) => current,
        ) ?? { device_uuid: "" };
        const rest = { exclude_current: true };
        const ended = await post(`/api/devices/${device}/revoke-all`, rest, body.access_token);
        expect(ended.body.revoked).toBe(1);
        expect(outcome(await realm.app.call("GET", "/api/auth/me", { token: provided }))).toBe("401 unauthorized");
        return body.access_token as string;
      },
    ],
    [
      "entered an account that the person has added on a device",
      async (provided, _other, device) => {
        const { data } = (await realm.app.call("GET", `/api/devices/${device}/accounts`, { token: provided })).body;
        const { id } =
          (data as { id: string; org_uuid: string }[]).find((one) => one.org_uuid !== realm.owner.org) ?? {};
        const entered = await post(`/api/devices/${device}/active-account`, { account_id: id }, provided);
        return entered.body.access_token as string;
      },
    ],
  ])("it leaves nothing behind that %s when the membership ends", async (how, open) => {
    const { app, owner } = realm;
    const [sub, device] = [`leaver-${randomUUID()}`, randomUUID()];
    const { other, email } = await memberOfTwo(sub);
    expect(await link(sub, await byMail(email))).toBe("204");
    const bearer = await byMail(email, device, owner.org);
    const added = { access_token: await byMail(email, device, other.org) };
    expect(outcome(await post(`/api/devices/${device}/accounts`, added, bearer))).toBe("201");
    const provided = await byProvider(sub);
    const left = await open(provided, other, device);
    const see = async (token: string) => outcome(await app.call("GET", "/api/auth/me", { token }));
    expect(await see(left)).toBe("200");
    const path = `/api/users/${String(decodeJwt(provided).sub)}`;
    expect(outcome(await app.call("DELETE", path, { token: owner.token }))).toBe("204");
    expect(await see(left)).toBe("401 unauthorized");
    expect(await see(await byMail(email))).toBe("200");
    // The log of the other organization says so, and not who of this one did it.
    const told = (await auditOf(app, other, "session.bulk_revoked")).filter(
      ({ metadata }) => metadata["reason"] === "source_ended",
    );
    expect(told.map(({ actor }) => actor)).toEqual(
      how.startsWith("founded") ? [] : [{ type: "system", id: null, email: null }],
    );
  });

  it("it leaves nothing behind when its organization ends", async () => {
    const { app, provider } = realm;
    const boss = await founder(app);
    const { body } = await connect(app, boss, provider.discoveryUrl);
    const theirs = { ...realm, connection: body.connection_uuid as string };
    const provided = (await signIn(theirs, subject(`orphan-${randomUUID()}`))).body.access_token as string;
    const way = (await post("/api/organizations", { name: randomUUID() }, provided)).body.access_token as string;
    const token = await elevated(app, boss.token);
    expect(outcome(await app.call("DELETE", `/api/organizations/${boss.org}`, { token }))).toBe("204");
    expect(outcome(await app.call("GET", "/api/auth/me", { token: way }))).toBe("401 unauthorized");
  });

  it("it leaves nothing behind where it has passed a second factor either", async () => {
    const { app, owner } = realm;
    const sub = `careful-${randomUUID()}`;
    const { email } = await memberOfTwo(sub);
    const bearer = await byMail(email);
    const { id, secret } = (await post("/api/v1/me/mfa/factors", { factor_type: "totp" }, bearer)).body.data;
    const code = () => codeAt(secret as string, app.clock.now());
    expect((await post(`/api/v1/me/mfa/factors/${id}/verify`, { code: code() }, bearer)).status).toBe(200);
    app.clock.advance(30_000);
    const { mfa_token } = (await signIn(realm, subject(sub))).body;
    const provided = await post("/api/auth/mfa/totp/challenge", { mfa_token, code: code() });
    const way = await post("/api/organizations", { name: randomUUID() }, provided.body.access_token as string);
    expect(way.status).toBe(201);
    const path = `/api/users/${String(decodeJwt(bearer).sub)}`;
    expect(outcome(await app.call("DELETE", path, { token: owner.token }))).toBe("204");
    const seen = await app.call("GET", "/api/auth/me", { token: way.body.access_token as string });
    expect(outcome(seen)).toBe("401 unauthorized");
  });

  it("it leaves nothing behind where it has joined another organization past a second factor either", async () => {
    const { app, owner } = realm;
    const sub = `joiner-${randomUUID()}`;
    const [enrolled, provided] = [await byProvider(sub), await byProvider(sub)];
    const { id, secret } = (await post("/api/v1/me/mfa/factors", { factor_type: "totp" }, enrolled)).body.data;
    const code = () => codeAt(secret as string, app.clock.now());
    expect((await post(`/api/v1/me/mfa/factors/${id}/verify`, { code: code() }, enrolled)).status).toBe(200);
    const { token } = await invite(app, await founder(app), `${sub}@corp.test`);
    const { mfa_token } = (await post("/api/auth/invite/accept", { token }, provided)).body.data;
    app.clock.advance(30_000);
    const joined = await post("/api/auth/mfa/totp/challenge", { mfa_token, code: code() });
    expect(joined.status).toBe(200);
    const path = `/api/users/${String(decodeJwt(provided).sub)}`;
    expect(outcome(await app.call("DELETE", path, { token: owner.token }))).toBe("204");
    const seen = await app.call("GET", "/api/auth/me", { token: joined.body.access_token as string });
    expect(outcome(seen)).toBe("401 unauthorized");
  });

  it("it links no identity of an organization that was founded with it once its own link is gone", async () => {
    const { app, provider } = realm;
    const boss = await founder(app);
    const made = await connect(app, boss, provider.discoveryUrl);
    const theirs: Realm = { ...realm, owner: boss, connection: made.body.connection_uuid as string };
    const sub = `stayer-${randomUUID()}`;
    await signIn(theirs, subject(sub));
    await byMail(`${sub}@corp.test`);
    const provided = (await signIn(theirs, subject(sub))).body.access_token as string;
    const founded = await post("/api/organizations", { name: randomUUID() }, provided);
    const { access_token: token, org_uuid: org } = founded.body;
    const { body } = await connect(app, { ...boss, org, token }, provider.discoveryUrl);
    const connections = `/api/admin/organizations/${boss.org}/oidc-connections`;
    expect((await app.call("DELETE", `${connections}/${theirs.connection}`, { token: boss.token })).status).toBe(204);
    const { cookie, answer } = await callbackOf({ ...realm, connection: body.connection_uuid }, subject(sub));
    const redemption = { session_token: sessionTokenOf(answer) };
    const linked = await post("/api/auth/oidc/link", redemption, token, { cookie });
    expect(outcome(linked)).toBe("403 link_required");
    const own = await byMail(`${sub}@corp.test`);
    expect(outcome(await post("/api/auth/oidc/link", redemption, own, { cookie }))).toBe("204");
  });
});
