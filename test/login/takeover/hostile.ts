import { randomUUID } from "node:crypto";
import { codeAt } from "../../mfa/support.ts";
import { caller, connectionOf, said } from "./world.ts";
import type { Step, World } from "./world.ts";

/** Keeps the newest of what the hostile side holds. */
function keep<T>(list: T[], ...items: T[]): void {
  list.push(...items);
  while (list.length > 12) list.shift();
}

/** Keeps what a sign-in has answered. */
export function loot({ loot: held }: World, body: Record<string, unknown> | undefined): void {
  const { access_token: access, refresh_token: refresh, mfa_token: mfa } = body ?? {};
  if (typeof access === "string") keep(held.tokens, access);
  if (typeof refresh === "string") keep(held.refresh, refresh);
  if (typeof mfa === "string") keep(held.mfa, mfa);
}

const anyToken = ({ random, loot: { tokens } }: World): string =>
  tokens.length === 0 ? "" : random.pick(tokens.slice(-6));
/** Addresses the hostile side names: mostly the victim's. */
export const anyAddress = ({ random, victim, theirs, aliases }: World): string =>
  random.chance(0.6) ? victim.email : random.pick([...theirs, ...aliases]);
export const spelled = (world: World, address: string): string =>
  address === world.victim.email && world.random.chance(0.3) ? (world.aliases[0] ?? address) : address;

/** A sign-in at the provider up to the session token. */
export async function sessionTokenBy(world: World, connection: string, sub: string, email: unknown, verified: unknown) {
  const { app, provider } = world;
  provider.subject = { sub, email, email_verified: verified };
  const begun = await app.call("GET", `/api/auth/oidc/${connection}/authorize`);
  if (begun.status !== 302) return { answer: begun, cookie: "", token: "" };
  const { code, params } = provider.authorize(begun.headers.get("location") ?? "");
  const cookie = (begun.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
  const query = new URLSearchParams({ code, state: params.get("state") ?? "" }).toString();
  const back = await app.call("GET", `/api/auth/oidc/${connection}/callback?${query}`, { headers: { cookie } });
  const location = back.headers.get("location") ?? "http://none.test";
  return { answer: back, cookie, token: new URL(location).searchParams.get("session_token") ?? "" };
}

async function byProvider(world: World): Promise<string> {
  const { random, loot: held, hostile } = world;
  const connection = random.pick([hostile.connection, hostile.connection, ...held.founded.values()]);
  if (connection === "") return "no connection";
  const email = spelled(world, anyAddress(world));
  const verified = random.chance(0.9) ? true : random.pick(["true", false, undefined]);
  const { answer, token, cookie } = await sessionTokenBy(world, connection, `s${random.below(3)}`, email, verified);
  if (token === "") return said(answer);
  keep(held.redeemable, { token, cookie });
  return random.chance(0.8) ? redeem(world) : "kept";
}

async function redeem(world: World): Promise<string> {
  const one = world.loot.redeemable.at(world.random.chance(0.8) ? -1 : -2);
  if (one === undefined) return "nothing";
  const options = { body: { session_token: one.token }, headers: { cookie: one.cookie } };
  const answer = await world.app.call("POST", "/api/auth/oidc/session", options);
  loot(world, answer.body);
  return said(answer);
}

async function link(world: World): Promise<string> {
  const [one, token] = [world.loot.redeemable.at(-1), anyToken(world)];
  if (one === undefined || token === "") return "nothing";
  const options = { token, body: { session_token: one.token }, headers: { cookie: one.cookie } };
  return said(await world.app.call("POST", "/api/auth/oidc/link", options));
}

/** Another organization with a token that is held, in which the hostile side has a provider too. */
async function found(world: World): Promise<string> {
  const token = anyToken(world);
  if (token === "" || world.loot.founded.size >= 4) return "nothing";
  const answer = await caller(world)("POST", "/api/organizations", token, { name: `${world.name} ${randomUUID()}` });
  if (answer.status === 201) {
    loot(world, answer.body);
    const [org, bearer] = [answer.body.org_uuid as string, answer.body.access_token as string];
    const domain = world.victim.email.split("@")[1] ?? "";
    world.loot.founded.set(org, await connectionOf(world, org, bearer, [domain]));
  }
  return said(answer);
}

async function signUp(world: World): Promise<string> {
  const { name, loot: held, victim } = world;
  const wanted = "the hostile password";
  const body = { name: `${name} ${randomUUID()}`, email: spelled(world, victim.email), password: wanted };
  const answer = await caller(world)("POST", "/api/organizations", undefined, { ...body, first_name: "Eve" });
  if (answer.status !== 201) return said(answer);
  loot(world, answer.body);
  held.passwords.add(wanted);
  const [org, bearer] = [answer.body.org_uuid as string, answer.body.access_token as string];
  held.founded.set(org, await connectionOf(world, org, bearer, [victim.email.split("@")[1] ?? ""]));
  return "201";
}

async function login(world: World): Promise<string> {
  const { loot: held, victim, random } = world;
  const used = random.pick([...held.passwords, "the hostile password"]);
  const answer = await caller(world)("POST", "/api/auth/login", undefined, { email: victim.email, password: used });
  loot(world, answer.body);
  return said(answer);
}

async function addFactor(world: World): Promise<string> {
  const token = anyToken(world);
  if (token === "") return "nothing";
  const { status, body } = await caller(world)("POST", "/api/v1/me/mfa/factors", token, { factor_type: "totp" });
  if (status !== 201) return `${status} ${body?.code}`;
  const { id, secret } = body.data as { id: number; secret: string };
  keep(world.loot.pending, { token, id, secret });
  return world.random.chance(0.7) ? verifyFactor(world) : "pending";
}

/** Activates a pending factor. The rules check who has a say over the victim at that time. */
async function verifyFactor(world: World): Promise<string> {
  const one = world.loot.pending.at(-1 - world.random.below(2));
  if (one === undefined) return "nothing";
  world.app.clock.advance(30_000);
  const code = codeAt(one.secret, world.app.clock.now());
  const path = `/api/v1/me/mfa/factors/${one.id}/verify`;
  const answer = await caller(world)("POST", path, one.token, { code });
  if (answer.status === 200) world.loot.factors.set(one.id, one.secret);
  return said(answer);
}

async function removeFactor(world: World): Promise<string> {
  const [token, id] = [anyToken(world), [...world.loot.factors.keys()].at(-1)];
  if (token === "" || id === undefined) return "nothing";
  return said(await caller(world)("DELETE", `/api/v1/me/mfa/factors/${id}`, token));
}

async function challenge(world: World): Promise<string> {
  const [mfaToken, secret] = [world.loot.mfa.at(-1), [...world.loot.factors.values()].at(-1)];
  if (mfaToken === undefined || secret === undefined) return "nothing";
  world.app.clock.advance(30_000);
  const body = { mfa_token: mfaToken, code: codeAt(secret, world.app.clock.now()) };
  const answer = await caller(world)("POST", "/api/auth/mfa/totp/challenge", undefined, body);
  loot(world, answer.body);
  return said(answer);
}

async function refresh(world: World): Promise<string> {
  const token = world.loot.refresh.at(-1 - world.random.below(4));
  if (token === undefined) return "nothing";
  const answer = await caller(world)("POST", "/api/auth/refresh", undefined, { refresh_token: token });
  loot(world, answer.body);
  return said(answer);
}

async function switchTo(world: World): Promise<string> {
  const { hostile, home, victim, loot: held, random } = world;
  const token = anyToken(world);
  if (token === "") return "nothing";
  const org_uuid = random.pick([hostile.org, home.org, home.org, ...victim.own, ...held.founded.keys()]);
  const answer = await caller(world)("POST", "/api/auth/switch", token, { org_uuid });
  loot(world, answer.body);
  return said(answer);
}

async function apiKey(world: World): Promise<string> {
  const { hostile, home, loot: held, random } = world;
  const token = anyToken(world);
  if (token === "") return "nothing";
  const org = random.pick([hostile.org, home.org, ...held.founded.keys()]);
  const path = `/api/admin/organizations/${org}/api-keys`;
  const answer = await caller(world)("POST", path, token, { name: "k", scopes: ["read:users"] });
  if (answer.status === 201) keep(held.keys, answer.body.api_key as string);
  return said(answer);
}

/** Mails that the hostile side has sent to itself, or to the victim. */
async function askForMail(world: World): Promise<string> {
  const { random, hostile, home } = world;
  const email = spelled(world, anyAddress(world));
  const org_uuid = random.pick([undefined, hostile.org, home.org]);
  const path = random.pick(["/api/auth/magic-link/send", "/api/auth/otp", "/api/auth/password/forgot"]);
  return said(await caller(world)("POST", path, undefined, { email, ...(org_uuid && { org_uuid }) }));
}

async function ownMail(world: World): Promise<string> {
  const { random, theirs, mailbox } = world;
  const address = random.pick(theirs);
  const call = caller(world);
  const kind = random.pick(["magic-link", "reset-password", "confirm-email", "disown", "invite", "code"] as const);
  const asks: Partial<Record<typeof kind, string>> = {
    "magic-link": "/api/auth/magic-link/send",
    "reset-password": "/api/auth/password/forgot",
    code: "/api/auth/otp",
  };
  const ask = asks[kind];
  if (ask !== undefined) await call("POST", ask, undefined, { email: address });
  const token = await mailbox.newest(address, kind);
  if (token === "") return "no mail";
  const wanted = "the hostile password";
  const person = { first_name: "Eve", last_name: "Il", username: `eve-${randomUUID()}`, password: wanted };
  const uses = {
    "magic-link": () => call("POST", "/api/auth/magic-link/verify", undefined, { token }),
    "reset-password": () => call("POST", "/api/auth/password/reset", undefined, { token, password: wanted }),
    "confirm-email": () => call("POST", "/api/auth/email/confirm", undefined, { token }),
    disown: () => call("POST", "/api/auth/email/disown", undefined, { token }),
    invite: () => call("POST", "/api/auth/invite/accept", anyToken(world) || undefined, { token, ...person }),
    code: () => call("POST", "/api/auth/otp/verify", undefined, { email: address, code: token }),
  };
  const answer = await uses[kind]();
  if (kind === "reset-password" && answer.status === 204) world.loot.passwords.add(wanted);
  loot(world, kind === "invite" ? (answer.body?.data as Record<string, unknown> | undefined) : answer.body);
  return `${kind} ${said(answer)}`;
}

/** What whoever holds a token does with the account. */
async function act(world: World): Promise<string> {
  const { random } = world;
  const token = anyToken(world);
  if (token === "") return "nothing";
  const call = caller(world);
  const me = (await call("GET", "/api/auth/me", token)).body?.user_uuid as string | undefined;
  const deeds: Record<string, () => Promise<unknown>> = {
    leave: () => call("DELETE", `/api/users/${me}`, token),
    profile: () => call("PUT", "/api/profile", token, { first_name: "Eve", phone: "+4912345" }),
    password: () =>
      call("PUT", "/api/profile/password", token, {
        current_password: "the hostile password",
        new_password: "the hostile password",
      }),
    codes: () => call("POST", "/api/v1/me/mfa/recovery-codes/regenerate", token),
    logout: () => call("POST", "/api/auth/logout", token),
    "spare itself": async () => {
      const { body } = await call("GET", "/api/auth/sessions", token);
      const own = ((body?.data ?? []) as { current: boolean; device_uuid: string }[]).find(({ current }) => current);
      return call("POST", `/api/devices/${own?.device_uuid}/revoke-all`, token, { exclude_current: true });
    },
  };
  const deed = random.pick(Object.keys(deeds).filter((name) => name !== "logout" || random.chance(0.3)));
  return `${deed} ${said((await deeds[deed]?.()) as never)}`;
}

/** What the hostile side does. */
export const hostileSteps: readonly Step[] = [
  ["hostile: provider", 9, byProvider],
  ["hostile: redeem", 2, redeem],
  ["hostile: link", 4, link],
  ["hostile: found", 3, found],
  ["hostile: sign up", 3, signUp],
  ["hostile: login", 2, login],
  ["hostile: add factor", 2, addFactor],
  ["hostile: verify factor", 1, verifyFactor],
  ["hostile: remove factor", 1, removeFactor],
  ["hostile: challenge", 4, challenge],
  ["hostile: refresh", 3, refresh],
  ["hostile: switch", 4, switchTo],
  ["hostile: key", 2, apiKey],
  ["hostile: ask for mail", 4, askForMail],
  ["hostile: own mail", 6, ownMail],
  ["hostile: act", 4, act],
];
