import type { TestApp } from "../support/app.ts";
import { elevated, founder, member } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { fetchOver } from "../mtls/client.ts";
import type { Bearer } from "./rules.ts";
import type { Credential } from "./send.ts";
import { apiKey, automationToken, done, orglessToken, platformAdmin, publishApp, signIn } from "./world.ts";
import type { Ids } from "./world.ts";
import { bySvid, ownSvid, workload } from "./workloads.ts";

/** A caller and what they present. */
export interface Role extends Bearer, Credential {}

/** All callers that request the routes of organization A. */
export interface Callers {
  /** Ids of objects of A that exist. */
  here: Ids;
  /** Invalid bearer tokens: ended, forged, of another kind. */
  unauthenticated: Record<string, Role>;
  people: Record<string, Role>;
  keys: Record<string, Role>;
}

const base: Bearer = {
  kind: "person",
  here: true,
  organization: true,
  admin: false,
  owner: false,
  appAdmin: false,
  elevated: false,
  platform: false,
  vault: false,
  scopes: [],
};
const ruler: Bearer = { ...base, admin: true, owner: true, appAdmin: true, vault: true };
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Creates the callers. Advances the clock first, so that expired tokens exist. */
export async function createCallers(app: TestApp): Promise<Callers> {
  const first = await founder(app);
  const early = {
    expired: (await signIn(app, first)).token,
    elevated: await elevated(app, first.token),
    key: (await apiKey(app, first, ["admin"], 1)).key,
  };
  app.clock.advance(2 * DAY);
  const endedCertificates = await endedSvids(app, { ...first, token: (await signIn(app, first)).token });

  const own = await signIn(app, first);
  const a: Somebody = { ...first, token: own.token };
  const { appId } = await publishApp(app, a.token);
  const stranger = await founder(app);
  const [limited, second, manager] = [await member(app, a, 5), await member(app, a, 1), await member(app, a, 2)];
  const platform = await platformAdmin(app);
  const scim = await scimToken(app, a);
  const key = async (...scopes: string[]): Promise<string> => (await apiKey(app, a, scopes)).key;
  const nobody = (token: string | undefined): Role => ({ ...base, kind: "none", token });
  const keyOf = (token: string, ...scopes: string[]): Role => ({
    ...ruler,
    kind: "key",
    owner: false,
    vault: scopes.includes("vault:write"),
    token,
    scopes,
  });
  const keyWith = async (...scopes: string[]): Promise<Role> => keyOf(await key(...scopes), ...scopes);
  const demoted = await demotedKey(app, a);

  const ended = await endedTokens(app, a);
  return {
    here: { org_uuid: a.org, app_id: appId },
    unauthenticated: {
      ...Object.fromEntries(
        Object.entries(endedCertificates).map(([name, held]) => [name, { ...base, kind: "none" as const, ...held }]),
      ),
      ...Object.fromEntries(
        Object.entries({
          "no token": undefined,
          garbage: "garbage",
          "three parts": "a.b.c",
          "cut token": own.token.slice(0, -2),
          "unsigned token": `${own.token.split(".").slice(0, 2).join(".")}.`,
          "expired token": early.expired,
          "expired elevated token": early.elevated,
          "expired key": early.key,
          "refresh token": own.refresh,
          ...ended,
        }).map(([name, token]) => [name, nobody(token)]),
      ),
    },
    people: {
      owner: { ...ruler, token: a.token },
      "elevated owner": { ...ruler, elevated: true, token: await elevated(app, a.token) },
      admin: { ...base, admin: true, vault: true, token: second.token },
      "elevated admin": { ...base, admin: true, vault: true, elevated: true, token: await elevated(app, second.token) },
      limited: { ...base, lowly: true, withoutBilling: true, token: limited.token },
      "elevated limited": {
        ...base,
        lowly: true,
        withoutBilling: true,
        elevated: true,
        token: await elevated(app, limited.token),
      },
      manager: { ...base, token: manager.token },
      "owner of another organization": {
        ...ruler,
        here: false,
        appAdmin: false,
        token: (await signIn(app, stranger)).token,
      },
      "elevated owner of another organization": {
        ...ruler,
        here: false,
        appAdmin: false,
        elevated: true,
        token: await elevated(app, stranger.token),
      },
      "platform admin of another organization": { ...ruler, here: false, platform: true, token: platform.token },
      "elevated platform admin of another organization": {
        ...ruler,
        here: false,
        platform: true,
        elevated: true,
        token: platform.elevated,
      },
      "token without organization": { ...base, here: false, organization: false, token: await orglessToken(app) },
      "scim token": { ...base, kind: "scim", token: scim },
      "scim token of another organization": {
        ...base,
        kind: "scim",
        here: false,
        token: await scimToken(app, stranger),
      },
    },
    keys: {
      "key with every scope": await keyWith("admin", "vault:write"),
      "key with admin": await keyWith("admin"),
      "key to read users": await keyWith("read:users"),
      "key to write users and gateway": await keyWith("write:users", "write:gateway"),
      "key to read events and credentials": await keyWith("read:events", "read:credentials"),
      "key to write sessions, keys and identities": await keyWith("write:sessions", "write:keys", "write:identities"),
      "key to write secrets": await keyWith("write:secrets"),
      "key to write the vault": await keyWith("vault:write"),
      "key to read what is sold": await keyWith("read:apps", "read:installs", "read:billing", "read:templates"),
      "key of another organization": {
        ...keyOf((await apiKey(app, stranger, ["admin"])).key, "admin"),
        here: false,
        appAdmin: false,
      },
      ...(await workloadRoles(app, a, stranger)),
      "key of a demoted admin": { ...base, kind: "key", withoutBilling: true, scopes: ["admin"], token: demoted },
    },
  };
}

/** Service identities by each of their credentials. */
async function workloadRoles(app: TestApp, a: Somebody, stranger: Somebody): Promise<Record<string, Role>> {
  const role: Bearer = { ...base, kind: "key", workload: true, scopes: ["admin", "vault:write"] };
  const admin: Bearer = { ...role, admin: true, vault: true };
  const limited: Bearer = { ...role, withoutBilling: true, lowly: true };
  const demoted = await workload(app, a);
  const path = `/api/organizations/${a.org}/service-identities/${demoted.identityId}`;
  done(await app.call("PATCH", path, { token: a.token, body: { role_id: 3 } }));
  const all = [
    ["the role admin", admin, await workload(app, a)],
    ["the role limited_access", limited, await workload(app, a, 5)],
    ["another organization", { ...admin, here: false }, await workload(app, stranger)],
    ["a demoted identity", { ...role, withoutBilling: true }, demoted],
  ] as const;
  return Object.fromEntries(
    all.flatMap(([name, bearer, made]): [string, Role][] => [
      [`automation token of ${name}`, { ...bearer, token: made.token }],
      [`SVID of ${name}`, { ...bearer, ...bySvid(made) }],
    ]),
  );
}

/** Client certificates that made a caller, each ended in another way. */
async function endedSvids(app: TestApp, a: Somebody): Promise<Record<string, Credential>> {
  const call = async (method: string, url: string, token: string) => done(await app.call(method, url, { token }));
  const [revoked, orphan] = [await workload(app, a), await workload(app, a)];
  await call("DELETE", `/api/auth/spiffe/svids/${revoked.svidId}`, a.token);
  await call("DELETE", `/api/organizations/${a.org}/service-identities/${orphan.identityId}`, a.token);
  const gone = await founder(app);
  const homeless = await workload(app, gone);
  await call("DELETE", `/api/organizations/${gone.org}`, await elevated(app, gone.token));
  const short = await workload(app, a);
  const { presented } = await ownSvid(app, short.identityId, short, 1);
  app.clock.advance(HOUR);
  return {
    "revoked SVID": bySvid(revoked),
    "SVID of a deleted identity": bySvid(orphan),
    "SVID of a deleted organization": bySvid(homeless),
    "expired SVID": bySvid({ presented, fetch: fetchOver(app, presented) }),
    "no certificate over mutual TLS": bySvid({ presented: {}, fetch: fetchOver(app, {}) }),
    "garbage beside an SVID": { ...bySvid(short), token: "garbage" },
  };
}

/** A new SCIM token of an organization; 5 at most may live. */
export async function scimToken(app: TestApp, by: Pick<Somebody, "token" | "org">): Promise<string> {
  return (
    done(
      await app.call("POST", `/api/admin/organizations/${by.org}/scim-tokens`, {
        token: by.token,
        body: { name: "idp" },
      }),
    )["token"] ?? ""
  );
}

async function demotedKey(app: TestApp, by: Somebody): Promise<string> {
  const maker = await member(app, by, 1);
  const { key } = await apiKey(app, maker, ["admin"]);
  done(await app.call("PUT", `/api/users/${maker.userUuid}/role`, { token: by.token, body: { role: "employee" } }));
  return key;
}

/** Bearer tokens that were valid, each ended in another way; and a signature that is no bearer token. */
async function endedTokens(app: TestApp, a: Somebody): Promise<Record<string, string>> {
  const admin = `/api/admin/organizations/${a.org}`;
  const call = async (method: string, path: string, token: string, body?: unknown) =>
    done(await app.call(method, path, { token, ...(body === undefined ? {} : { body }) }));

  const out = await signIn(app, a);
  const outElevated = await elevated(app, out.token);
  await call("POST", "/api/auth/logout", out.token);

  const revoked = await apiKey(app, a, ["admin"]);
  await call("DELETE", `${admin}/api-keys/${revoked.id}`, a.token);
  const scim = await call("POST", `${admin}/scim-tokens`, a.token, { name: "ended" });
  await call("DELETE", `${admin}/scim-tokens/${scim["token_id"]}`, a.token);

  const [suspended, removed, promoted] = [await member(app, a, 1), await member(app, a, 1), await member(app, a, 2)];
  const keys = { suspended: await apiKey(app, suspended, ["admin"]), removed: await apiKey(app, removed, ["admin"]) };
  await call("PATCH", `/api/users/${suspended.userUuid}`, a.token, { status: "inactive" });
  await call("DELETE", `/api/users/${removed.userUuid}`, a.token);
  await call("PUT", `/api/users/${promoted.userUuid}/role`, a.token, { role: "admin" });

  const identities = `/api/organizations/${a.org}/service-identities`;
  const [ended, orphan] = [await automationToken(app, a), await automationToken(app, a)];
  await call("DELETE", `${identities}/automation-tokens/${ended.id}`, a.token);
  await call("DELETE", `${identities}/${orphan.identityId}`, a.token);

  const gone = await founder(app);
  const goneIdentity = await automationToken(app, gone);
  const goneKey = await apiKey(app, gone, ["admin"]);
  const goneScim = await scimToken(app, gone);
  const goneElevated = await elevated(app, gone.token);
  await call("DELETE", `/api/organizations/${gone.org}`, goneElevated);

  const { data } = (await call("GET", `${admin}/signing-keys`, a.token)) as unknown as {
    data: { key_id: string; active: boolean }[];
  };
  const active = data.find((one) => one.active)?.key_id ?? "";
  const signed = await call("POST", `${admin}/signing-keys/${active}/sign`, a.token, { payload: { sub: a.userUuid } });

  return {
    "token of a session that ended": out.token,
    "elevated token of a session that ended": outElevated,
    "revoked key": revoked.key,
    "forged key":
      keys.removed.key.slice(0, 60) + (keys.removed.key[60] === "a" ? "b" : "a") + keys.removed.key.slice(61),
    "revoked scim token": scim["token"] ?? "",
    "token of a suspended member": suspended.token,
    "key of a suspended member": keys.suspended.key,
    "token of a removed member": removed.token,
    "key of a removed member": keys.removed.key,
    "token older than a change of role": promoted.token,
    "token of a deleted organization": gone.token,
    "elevated token of a deleted organization": goneElevated,
    "key of a deleted organization": goneKey.key,
    "scim token of a deleted organization": goneScim,
    "revoked automation token": ended.token,
    "automation token of a deleted identity": orphan.token,
    "automation token of a deleted organization": goneIdentity.token,
    "forged automation token":
      orphan.token.slice(0, 60) + (orphan.token[60] === "a" ? "b" : "a") + orphan.token.slice(61),
    "signed text": signed["token"] ?? "",
  };
}
