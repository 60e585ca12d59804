import { randomUUID } from "node:crypto";
import { codeAt } from "../../mfa/support.ts";
import { sessionTokenBy } from "./hostile.ts";
import { caller, said } from "./world.ts";
import type { House, Step, World } from "./world.ts";

/** The answer of a sign-in; passes the second factor where it is the victim's own. */
async function signedIn(world: World, answer: { status: number; body?: Record<string, unknown> }): Promise<string> {
  const { app, victim } = world;
  let body = answer.body;
  if (body?.["mfa_required"] === true) {
    const secret = [...victim.factors.values()].at(-1);
    if (secret === undefined) return "mfa";
    app.clock.advance(30_000);
    const challenge = { mfa_token: body["mfa_token"], code: codeAt(secret, app.clock.now()) };
    const passed = await caller(world)("POST", "/api/auth/mfa/totp/challenge", undefined, challenge);
    if (passed.status !== 200) return `mfa, then ${said(passed)}`;
    body = passed.body as Record<string, unknown>;
  }
  if (typeof body?.["access_token"] === "string") {
    victim.tokens.push(body["access_token"]);
    while (victim.tokens.length > 4) victim.tokens.shift();
  }
  return answer.status < 300 ? "200" : `${answer.status} ${String(body?.["code"])}`;
}

/** Signs in with a mailed link. */
export async function byLink(world: World, org_uuid?: string): Promise<string> {
  const call = caller(world);
  await call("POST", "/api/auth/magic-link/send", undefined, {
    email: world.victim.email,
    ...(org_uuid && { org_uuid }),
  });
  const token = await world.mailbox.newest(world.victim.email, "magic-link");
  return signedIn(world, await call("POST", "/api/auth/magic-link/verify", undefined, { token }));
}

async function byCode(world: World): Promise<string> {
  const { email } = world.victim;
  await caller(world)("POST", "/api/auth/otp", undefined, { email });
  const code = await world.mailbox.newest(email, "code");
  return signedIn(world, await caller(world)("POST", "/api/auth/otp/verify", undefined, { email, code }));
}

/** Sets a password with a mailed link. */
export async function reset(world: World): Promise<string> {
  const { victim, mailbox } = world;
  await caller(world)("POST", "/api/auth/password/forgot", undefined, { email: victim.email });
  const token = await mailbox.newest(victim.email, "reset-password");
  const wanted = `the victim's own ${randomUUID()}`;
  const answer = await caller(world)("POST", "/api/auth/password/reset", undefined, { token, password: wanted });
  if (answer.status === 204) victim.password = wanted;
  return said(answer);
}

async function login(world: World): Promise<string> {
  const { victim, random, home, hostile } = world;
  if (victim.password === undefined) return "no password";
  const org_name = random.pick([undefined, home.name, hostile.name]);
  const body = { email: victim.email, password: victim.password, ...(org_name && { org_name }) };
  return signedIn(world, await caller(world)("POST", "/api/auth/login", undefined, body));
}

async function found(world: World): Promise<string> {
  const { victim, random } = world;
  const token = victim.tokens.at(-1);
  if (victim.founded >= 2) return "enough";
  const name = `${world.name} own ${randomUUID()}`;
  const wanted = `the victim's own ${randomUUID()}`;
  const person = { email: victim.email, password: wanted, first_name: "Vic" };
  const asNew = token === undefined || random.chance(0.3);
  const answer = await caller(world)("POST", "/api/organizations", asNew ? undefined : token, {
    name,
    ...(asNew && person),
  });
  if (answer.status !== 201) return said(answer);
  victim.founded += 1;
  victim.own.add(answer.body.org_uuid as string);
  if (asNew) {
    victim.password = wanted;
    const confirm = await world.mailbox.newest(victim.email, "confirm-email");
    if (random.chance(0.7)) await caller(world)("POST", "/api/auth/email/confirm", undefined, { token: confirm });
  }
  return signedIn(world, answer);
}

/** Accepts the newest invitation, where it is one of `house`. */
async function accept(world: World): Promise<string> {
  const { victim, mailbox, random } = world;
  const call = caller(world);
  const token = await mailbox.newest(victim.email, "invite");
  const shown = await call("GET", `/api/auth/invite/${token}`);
  if (token === "" || shown.status !== 200) return said(shown);
  const wanted = `the victim's own ${randomUUID()}`;
  const person = { first_name: "Vic", last_name: "Tim", username: `vic-${randomUUID()}` };
  const bearer = victim.password === undefined || random.chance(0.6) ? victim.tokens.at(-1) : undefined;
  const used = victim.password ?? wanted;
  const answer = await call("POST", "/api/auth/invite/accept", bearer, { token, ...person, password: used });
  if (answer.status !== 200) return said(answer);
  const data = answer.body.data as Record<string, unknown>;
  if (victim.password === undefined && bearer === undefined && data["mfa_required"] === undefined)
    victim.password = wanted;
  return `${shown.body?.org_name ?? ""} ${await signedIn(world, { status: 200, body: data })}`;
}

/** Leaves an organization, by a session there. */
export async function leave(world: World, { org }: Pick<House, "org">): Promise<string> {
  const call = caller(world);
  for (const token of world.victim.tokens.toReversed()) {
    const me = await call("GET", "/api/auth/me", token);
    if (me.status !== 200) continue;
    const there = me.body.org_uuid === org ? token : undefined;
    const bearer = there ?? (await call("POST", "/api/auth/switch", token, { org_uuid: org })).body?.access_token;
    if (bearer !== undefined) return said(await call("DELETE", `/api/users/${me.body.user_uuid}`, bearer as string));
  }
  return "no session";
}

async function addFactor(world: World): Promise<string> {
  const { app, victim } = world;
  const token = victim.tokens.at(-1);
  if (token === undefined) return "no session";
  const call = caller(world);
  const { status, body } = await call("POST", "/api/v1/me/mfa/factors", token, { factor_type: "totp" });
  if (status !== 201) return `${status} ${body?.code}`;
  const { id, secret } = body.data as { id: number; secret: string };
  app.clock.advance(30_000);
  const code = codeAt(secret, app.clock.now());
  const answer = await call("POST", `/api/v1/me/mfa/factors/${id}/verify`, token, { code });
  if (answer.status === 200) victim.factors.set(id, secret);
  return said(answer);
}

async function removeFactor(world: World): Promise<string> {
  const { victim } = world;
  const [token, id] = [victim.tokens.at(-1), [...victim.factors.keys()].at(-1)];
  if (token === undefined || id === undefined) return "nothing";
  const answer = await caller(world)("DELETE", `/api/v1/me/mfa/factors/${id}`, token);
  if (answer.status === 204) victim.factors.delete(id);
  return said(answer);
}

/** Ends an account whose second factor the victim does not have. */
export async function disown(world: World): Promise<string> {
  const { victim, mailbox } = world;
  const token = await mailbox.newest(victim.email, "disown");
  if (token === "") return "no mail";
  const answer = await caller(world)("POST", "/api/auth/email/disown", undefined, { token });
  if (answer.status === 204) {
    Object.assign(victim, { password: undefined, tokens: [], hostage: false, trusts: false });
    victim.factors.clear();
    victim.own.clear();
  }
  return said(answer);
}

/** Signs in by the provider of their own organization, or links the identity there. */
async function byProvider(world: World): Promise<string> {
  const { app, victim, home } = world;
  const { token, cookie, answer } = await sessionTokenBy(world, home.connection, "the-victim", victim.email, true);
  if (token === "") return said(answer);
  const options = { body: { session_token: token }, headers: { cookie } };
  const opened = await app.call("POST", "/api/auth/oidc/session", options);
  if (opened.body?.code !== "link_required") return signedIn(world, opened);
  const bearer = victim.tokens.at(-1);
  if (bearer === undefined) return "link_required";
  return `link ${said(await app.call("POST", "/api/auth/oidc/link", { ...options, token: bearer }))}`;
}

/** Links an identity of the hostile provider, as its organization asks members of several organizations to. */
async function trust(world: World): Promise<string> {
  const { app, victim, hostile, random } = world;
  const bearer = victim.tokens.at(-1);
  if (bearer === undefined || random.chance(0.5)) return "nothing";
  const { token, cookie } = await sessionTokenBy(world, hostile.connection, `s${random.below(3)}`, victim.email, true);
  const options = { body: { session_token: token }, headers: { cookie }, token: bearer };
  const answer = await app.call("POST", "/api/auth/oidc/link", options);
  if (answer.status === 204) victim.trusts = true;
  return said(answer);
}

async function changePassword(world: World): Promise<string> {
  const { victim } = world;
  const token = victim.tokens.at(-1);
  if (token === undefined || victim.password === undefined) return "nothing";
  const wanted = `the victim's own ${randomUUID()}`;
  const body = { current_password: victim.password, new_password: wanted };
  const answer = await caller(world)("PUT", "/api/profile/password", token, body);
  if (answer.status === 204) victim.password = wanted;
  return said(answer);
}

/** What the victim does. */
export const victimSteps: readonly Step[] = [
  ["victim: link", 6, (world) => byLink(world, world.random.pick([undefined, world.home.org, world.hostile.org]))],
  ["victim: code", 2, byCode],
  ["victim: reset", 3, reset],
  ["victim: login", 4, login],
  ["victim: found", 1, found],
  ["victim: accept", 8, accept],
  ["victim: leave the hostile organization", 3, (world) => leave(world, world.hostile)],
  ["victim: leave", 0.5, (world) => leave(world, world.home)],
  ["victim: add factor", 1, addFactor],
  ["victim: remove factor", 1, removeFactor],
  ["victim: disown", 1, disown],
  ["victim: provider", 3, byProvider],
  ["victim: trust", 1, trust],
  ["victim: password", 1, changePassword],
];

/**
 * The victim gets back into their account by their mailbox, and leaves the hostile organization; what keeps them from
 * it where it must not. Whom single sign-on is required of, and whose account the hostile organization alone had a say
 * over, may be kept out.
 */
export async function recoveryFault(world: World, story: string[]): Promise<string | undefined> {
  const { victim, home, hostile } = world;
  story.push(`recovery: reset ${await reset(world)}`);
  victim.tokens = [];
  let entered = await byLink(world, home.org);
  story.push(`recovery: link ${entered}`);
  if (entered.startsWith("mfa")) {
    if (victim.hostage) return undefined;
    const ended = await disown(world);
    story.push(`recovery: disown ${ended}`);
    if (ended !== "204") return `the account cannot be ended: ${ended}`;
    entered = await byLink(world, home.org);
    story.push(`recovery: link ${entered}`);
  }
  if (entered.endsWith("sso_required")) return undefined;
  if (entered !== "200") return `the victim cannot get back in: ${entered}`;
  const left = await leave(world, hostile);
  story.push(`recovery: leave ${left}`);
  return /^(204|no session|409 last_owner)$/u.test(left) ? undefined : `the victim cannot leave: ${left}`;
}
