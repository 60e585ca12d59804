import { govern } from "./tenant.ts";
import { caller, ownerOf, said } from "./world.ts";
import type { Step, World } from "./world.ts";

async function invite(world: World): Promise<string> {
  const { home, victim } = world;
  const path = `/api/admin/organizations/${home.org}/invitations`;
  const body = { email: victim.email, role_id: 3 };
  return said(await caller(world)("POST", path, await ownerOf(world, home), body));
}

async function withdraw(world: World): Promise<string> {
  const { home } = world;
  const path = `/api/admin/organizations/${home.org}/invitations`;
  const token = await ownerOf(world, home);
  const { body } = await caller(world)("GET", path, token);
  const open = (body.data as { invitation_id: string; status: string }[]).find(({ status }) => status === "pending");
  return open === undefined ? "nothing" : said(await caller(world)("DELETE", `${path}/${open.invitation_id}`, token));
}

/** The directory of the victim's organization knows them alone. */
async function directory(world: World): Promise<string> {
  const { home, victim, random } = world;
  const { call, patch } = home.directory;
  const found = await call("GET", `/Users?filter=${encodeURIComponent(`userName eq "${victim.email}"`)}`);
  const user = (found.body.Resources as { id: string }[])[0];
  if (user === undefined) return said(await call("POST", "/Users", { schemas: [], userName: victim.email }));
  if (random.chance(0.15)) return said(await call("DELETE", `/Users/${user.id}`));
  const change = random.pick([
    { path: "title", value: `t${random.below(9)}` },
    { path: "active", value: true },
    { path: "active", value: true },
    { path: "active", value: false },
  ]);
  return `${change.path} ${said(await patch(`/Users/${user.id}`, { op: "replace", ...change }))}`;
}

const HOME_DEEDS = ["inactive", "active", "active", "remove", "jit", "sso", "factors"];

/** What the administrators of the victim's organization do. */
export const homeSteps: readonly Step[] = [
  ["home: invite", 5, invite],
  ["home: withdraw", 1, withdraw],
  ["home: directory", 5, directory],
  ["home: govern", 2, (world) => govern(world, world.home, HOME_DEEDS)],
];

const WAITS = [1_000, 31_000, 61_000, 301_000, 421_000, 901_000, 86_400_000];

/** What nobody does. */
export const timeSteps: readonly Step[] = [
  [
    "time",
    4,
    async ({ app, random }) => {
      const ms = random.pick(WAITS);
      app.clock.advance(ms);
      return `${ms} ms`;
    },
  ],
];
