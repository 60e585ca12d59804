import { password } from "../../support/people.ts";
import { anyAddress, spelled } from "./hostile.ts";
import { caller, connectionOf, ownerOf, said } from "./world.ts";
import type { House, Step, World } from "./world.ts";

async function invite(world: World): Promise<string> {
  const { hostile, random } = world;
  const path = `/api/admin/organizations/${hostile.org}/invitations`;
  const body = { email: spelled(world, anyAddress(world)), role_id: random.pick([1, 3]) };
  return said(await caller(world)("POST", path, await ownerOf(world, hostile), body));
}

async function scim(world: World): Promise<string> {
  const { hostile, random } = world;
  const { directory } = hostile;
  const { body } = await directory.call("GET", "/Users?count=50");
  const all = (body.Resources as { id: string; userName: string }[]).filter(
    ({ userName }) => !/owner@|insider@/u.test(userName),
  );
  const userName = spelled(world, anyAddress(world));
  if (all.length === 0 || random.chance(0.3))
    return said(await directory.call("POST", "/Users", { schemas: [], userName, active: random.chance(0.8) }));
  const path = `/Users/${random.pick(all).id}`;
  if (random.chance(0.2)) return said(await directory.call("DELETE", path));
  const change = random.pick([
    { path: "userName", value: userName },
    { path: "userName", value: userName },
    { path: "emails", value: [{ value: userName, primary: true }] },
    { path: "active", value: true },
    { path: "active", value: false },
    { path: "title", value: `t${random.below(9)}` },
  ]);
  return `${change.path} ${said(await directory.patch(path, { op: "replace", ...change }))}`;
}

async function elevatedOwner(world: World, one: House): Promise<string> {
  const token = await ownerOf(world, one);
  const call = caller(world);
  const { body } = await call("POST", "/api/auth/step-up/challenge", token, { method: "password" });
  const answer = { challenge_id: body.challenge_id, password };
  return (await call("POST", "/api/auth/step-up/verify", token, answer)).body.elevated_token as string;
}

/** What an owner can do to a member, and to the organization. */
export async function govern(world: World, one: House, among: readonly string[]): Promise<string> {
  const { random } = world;
  const token = await elevatedOwner(world, one);
  const call = caller(world);
  const { body } = await call("GET", "/api/users", token);
  const others = (body.data as { user_uuid: string; email: string }[]).filter(
    ({ email }) => !/owner@|insider@/u.test(email),
  );
  const path = others.length === 0 ? undefined : `/api/users/${random.pick(others).user_uuid}`;
  const mail = world.victim.email.split("@")[1] ?? "";
  const deeds: Record<string, () => Promise<string>> = {
    role: async () =>
      path ? said(await call("PUT", `${path}/role`, token, { role: random.pick(["admin", "employee"]) })) : "",
    inactive: async () => (path ? said(await call("PATCH", path, token, { status: "inactive" })) : ""),
    active: async () => (path ? said(await call("PATCH", path, token, { status: "active" })) : ""),
    owner: async () => (path ? said(await call("PATCH", path, token, { is_owner: random.chance(0.3) })) : ""),
    remove: async () => (path ? said(await call("DELETE", path, token)) : ""),
    factors: async () => (path ? said(await call("DELETE", `${path}/mfa-factors`, token)) : ""),
    jit: async () =>
      said(
        await call("PATCH", `/api/organizations/${one.org}`, token, { jit_domains: random.chance(0.6) ? [mail] : [] }),
      ),
    sso: async () =>
      said(await call("PATCH", `/api/organizations/${one.org}`, token, { sso_required: random.chance(0.4) })),
    connection: async () => {
      const base = `/api/admin/organizations/${one.org}/oidc-connections`;
      const answer = await call("DELETE", `${base}/${one.connection}`, token);
      if (answer.status === 204) one.connection = await connectionOf(world, one.org, token, [mail]);
      return said(answer);
    },
  };
  const deed = random.pick(among);
  return `${deed} ${await deeds[deed]?.()}`;
}

const HOSTILE_DEEDS = [
  "role",
  "inactive",
  "active",
  "active",
  "owner",
  "remove",
  "factors",
  "jit",
  "sso",
  "connection",
];

/** What the administrators and the directory of the hostile organization do. */
export const tenantSteps: readonly Step[] = [
  ["hostile: invite", 4, invite],
  ["hostile: directory", 9, scim],
  ["hostile: govern", 6, (world) => govern(world, world.hostile, HOSTILE_DEEDS)],
];
