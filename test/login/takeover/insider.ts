import { password } from "../../support/people.ts";
import { loot } from "./hostile.ts";
import { caller, said } from "./world.ts";
import type { Step, World } from "./world.ts";

/** A device of the hostile side, on which accounts are added. */
const DEVICE = "5d1f3c52-8a4e-4d0b-9b5e-2f6f0a4c7e11";

async function signIn(world: World): Promise<string> {
  const { app, insider, random, hostile, home } = world;
  const org_name = random.pick([hostile.name, home.name]);
  const options = { body: { email: insider.email, password, org_name }, headers: { "x-device-uuid": DEVICE } };
  const answer = await app.call("POST", "/api/auth/login", options);
  loot(world, answer.body);
  return said(answer);
}

/** Adds an account on the device, and switches to one. */
async function accounts(world: World): Promise<string> {
  const { random, loot: held } = world;
  if (held.tokens.length === 0) return "nothing";
  const [token, other] = [random.pick(held.tokens), random.pick(held.tokens)];
  const call = caller(world);
  const path = `/api/devices/${DEVICE}`;
  const added = await call("POST", `${path}/accounts`, token, { access_token: other });
  const { body } = await call("GET", `${path}/accounts`, token);
  const ids = ((body?.data ?? []) as { id: string }[]).map(({ id }) => id);
  if (ids.length === 0) return said(added);
  const entered = await call("POST", `${path}/active-account`, token, { account_id: random.pick(ids) });
  loot(world, entered.body);
  return `${said(added)}, ${said(entered)}`;
}

/** Powers of an employee that the insider tries in the victim's organization. */
async function overreach(world: World): Promise<string> {
  const { random, loot: held, home, victim, theirs } = world;
  const token = random.pick(["", ...held.tokens]);
  const call = caller(world);
  const base = `/api/admin/organizations/${home.org}`;
  const email = random.pick([victim.email, ...theirs]);
  const deeds: (() => ReturnType<typeof call>)[] = [
    () => call("POST", `${base}/invitations`, token, { email, role_id: 1 }),
    () => call("GET", "/api/users", token),
    () => call("POST", `${base}/scim-tokens`, token, {}),
    () => call("GET", `/api/organizations/${home.org}/audit-events`, token),
    () => call("GET", `/api/organizations/${home.org}/session-inventory`, token),
  ];
  const answer = await random.pick(deeds)();
  if (answer.status < 300 && answer.text.includes(home.org)) throw new Error(`a thief reads ${answer.text}`);
  return said(answer);
}

/** What the employee of both organizations does. */
export const insiderSteps: readonly Step[] = [
  ["insider: sign in", 3, signIn],
  ["insider: accounts", 3, accounts],
  ["insider: overreach", 1, overreach],
];
