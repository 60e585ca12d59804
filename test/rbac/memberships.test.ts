import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { elevated, founder, invite, member, outcome, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { randomOf } from "../support/random-of.ts";
import type { Random } from "../support/random-of.ts";
import { isSame, judge } from "./membership-model.ts";
import type { Actor, Membership, Wish } from "./membership-model.ts";

const organizations = Number(process.env["ATRIUM_ORGANIZATIONS"] ?? 4);
const steps = 60;
const ROLES = ["", "admin", "manager", "employee", "observer", "limited_access"];

let app: TestApp;
let second: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock });
});
afterAll(async () => {
  await second.close();
  await app.close();
});

/** An organization under test: what the model says of its members, and what they hold. */
interface Run {
  people: Somebody[];
  members: Membership[];
  /** By person: a token and a key of their present membership, once there are any. */
  tokens: (string | undefined)[];
  keys: (string | undefined)[];
  said: string[];
}

async function tokenOf(run: Run, person: number): Promise<string> {
  const { email, orgName } = run.people[person] as Somebody;
  return (run.tokens[person] ??= await app.login(email, password, orgName));
}

/** The credential of an actor; undefined where they cannot have it. */
async function credentialOf(run: Run, { person, by }: Actor): Promise<string | undefined> {
  if (by === "elevated") return elevated(app, await tokenOf(run, person));
  if (by === "token") return tokenOf(run, person);
  if (run.keys[person] !== undefined || run.members[person]?.role !== 1) return run.keys[person];
  const { body } = await app.call("POST", `/api/admin/organizations/${run.people[person]?.org}/api-keys`, {
    token: await tokenOf(run, person),
    body: { name: "model", scopes: ["admin", "vault:write"] },
  });
  return (run.keys[person] = body.api_key as string);
}

/** Sends a request; an invitation is also accepted. */
async function send(on: TestApp, token: string, of: Somebody, wish: Wish): Promise<Answer> {
  const path = `/api/users/${of.userUuid}`;
  if (wish.kind === "delete") return on.call("DELETE", path, { token });
  if (wish.kind === "patch") {
    const { status, isOwner: is_owner } = wish;
    return on.call("PATCH", path, { token, body: { status, is_owner } });
  }
  if (wish.kind === "role")
    return wish.route === "native"
      ? on.call("PUT", `${path}/role`, { token, body: { role: ROLES[wish.role] } })
      : on.call("PUT", `/api/v2/organizations/${of.org}/users/${of.userUuid}/role`, {
          token,
          body: { roleId: wish.role },
        });
  const invited = await invite(app, { token, org: of.org }, of.email, wish.role);
  if (invited.answer.status !== 201) return invited.answer;
  return on.call("POST", "/api/auth/invite/accept", { body: { token: invited.token, password } });
}

function wishOf({ pick, below, chance }: Random, isGone: boolean): Wish {
  const kind = isGone && chance(0.6) ? "invite" : pick(["role", "role", "patch", "patch", "patch", "delete", "invite"]);
  if (kind === "delete") return { kind };
  const role = below(5) + 1;
  if (kind === "invite") return { kind, role };
  if (kind === "role") return { kind, route: pick(["native", "v2"]), role: chance(0.4) ? 1 : role };
  const status = pick([undefined, "active", "inactive"] as const);
  const isOwner = pick([undefined, true, true, false] as const);
  return { kind: "patch", ...(status && { status }), ...(isOwner !== undefined && { isOwner }) };
}

/** Members as the service lists them, by somebody with power; removed ones are not among them. */
async function shown(run: Run): Promise<(Membership | undefined)[]> {
  const viewer = run.members.findIndex(({ status, isOwner }) => status === "active" && isOwner);
  const { body } = await app.call("GET", "/api/users?limit=200", { token: await tokenOf(run, viewer) });
  const items = body.data as { user_uuid: string; role_id: number; is_owner: boolean; status: string }[];
  return run.people.map(({ userUuid }) => {
    const item = items.find((one) => one.user_uuid === userUuid);
    return item && { role: item.role_id, isOwner: item.is_owner, status: item.status as Membership["status"] };
  });
}

async function step(run: Run, random: Random): Promise<void> {
  const able = run.members.flatMap(({ status }, at) => (status === "active" ? [at] : []));
  const actor: Actor = { person: random.pick(able), by: random.pick(["token", "elevated", "elevated", "key"]) };
  const target = random.chance(0.2) ? actor.person : random.below(run.people.length);
  const before = run.members[target] as Membership;
  const wish = wishOf(random, before.status === "removed");
  const credential = await credentialOf(run, actor);
  if (credential === undefined) return;
  run.said.push(JSON.stringify([actor, target, wish]));
  const verdict = judge(run.members, actor, target, wish);
  const on = random.pick([app, second]);
  const answer = await send(on, credential, run.people[target] as Somebody, wish);
  const said = run.said.join("\n");
  expect(answer.status < 300 ? "2xx" : outcome(answer), said).toBe(verdict.outcome);
  if (verdict.after === undefined || isSame(before, verdict.after)) return;
  run.members[target] = verdict.after;
  const [token, key] = [run.tokens[target], run.keys[target]];
  run.tokens[target] = undefined;
  if (token !== undefined) expect((await on.call("GET", "/api/auth/me", { token })).status, said).toBe(401);
  if (key === undefined) return;
  const ended = verdict.after.status !== "active";
  if (ended) run.keys[target] = undefined;
  expect((await on.call("GET", "/api/auth/me", { token: key })).status, said).toBe(ended ? 401 : 200);
}

it.each(Array.from({ length: organizations }, (_, at) => at + 1))(
  "random changes of members do what the rules say, on every route and by every credential: seed %i",
  async (seed) => {
    const by = await founder(app);
    const people = [by];
    for (const role of [1, 1, 3]) people.push(await member(app, by, role));
    const members = [1, 1, 1, 3].map((role, at): Membership => ({ role, isOwner: at === 0, status: "active" }));
    const run: Run = { people, members, tokens: [by.token], keys: [], said: [] };
    const random = randomOf(seed);
    for (let at = 0; at < steps; at++) {
      app.clock.advance(100);
      await step(run, random);
      expect(await shown(run), run.said.join("\n")).toEqual(
        run.members.map((one) => (one.status === "removed" ? undefined : one)),
      );
    }
    expect(run.said.length).toBeGreaterThan(steps / 2);
  },
);
