import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, mailsTo, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { randomOf } from "../support/random-of.ts";
import type { Random } from "../support/random-of.ts";
import { directoryOf } from "./support.ts";
import type { Directory } from "./support.ts";
import { Tenants } from "./tenants-model.ts";
import type { Group, Step, User } from "./tenants-model.ts";
import { randomStep } from "./tenants-steps.ts";

/** `.ci/run` asks the other models for 10,000 cases; a step of this one is a request and six lists. */
const STEPS = Math.ceil(Number(process.env["SCIM_CASES"] ?? 2_000) / 40);
const SEED = Number(process.env["SCIM_SEED"] ?? 7_644);

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
});
afterAll(() => app.close());

interface Shown extends Record<string, unknown> {
  id: string;
  meta: { version: string };
}

let random: Random;
let tenants: Tenants;
let owners: Somebody[];
let directories: Directory[];
let attempts = 0;

/** Three organizations with their directories, and two people with accounts elsewhere. */
async function begin(): Promise<void> {
  const domain = `tenants${++attempts}.test`;
  random = randomOf(SEED);
  tenants = new Tenants(random, domain, 3);
  owners = [await founder(app), await founder(app), await founder(app)];
  directories = await Promise.all(owners.map((owner) => directoryOf(app, owner)));
  for (const name of ["known1", "known2"]) {
    const email = `${name}@${domain}`;
    const body = { name: `Home of ${email}`, email, password, first_name: name };
    expect((await app.call("POST", "/api/organizations", { body })).status).toBe(201);
    tenants.people.push({ key: email, home: body.name, memberOf: new Set([-1]) });
  }
  for (const [org, { email, orgName }] of owners.entries()) {
    const [owner] = await list(org, "Users");
    const { schemas: _schemas, id, meta: _meta, active: _active, ...data } = owner as Shown;
    const person = { key: email, home: orgName, memberOf: new Set([org]) };
    const standing = { active: true, invited: false, wanted: true, isOwner: true, touched: 0 };
    tenants.people.push(person);
    tenants.users.push({ kind: "Users", org, id, person, data, ...standing });
  }
}

const kinds = ["Users", "Groups"] as const;

async function list(org: number, kind: string, query = "count=200"): Promise<Shown[]> {
  const { body } = (await directories[org]?.call("GET", `/${kind}?${query}`)) ?? {};
  expect(body.totalResults, `${kind} of ${org}`).toBe(body.Resources.length);
  return body.Resources;
}

/** What all directories show, by organization, kind and id. */
async function everything(): Promise<Map<string, Shown>> {
  const shown = new Map<string, Shown>();
  for (const org of owners.keys())
    for (const kind of kinds) for (const one of await list(org, kind)) shown.set(`${org} ${kind} ${one.id}`, one);
  return shown;
}

const ids = (list_: readonly { id: string }[]): string[] => list_.map(({ id }) => id).sort();
const shownIds = (values: unknown): string[] =>
  ((values ?? []) as { value: string }[]).map(({ value }) => value).sort();

/** A resource as the model has it, and as it is shown, without what the service adds. */
function modelled(one: User | Group): unknown {
  if (one.kind === "Groups") return { ...one.data, members: ids([...one.members]) };
  const groups = tenants.groups.filter(({ members }) => members.has(one));
  return { ...one.data, active: one.active, groups: ids(groups) };
}
function plain({ schemas: _schemas, id: _id, meta: _meta, members, groups, ...rest }: Shown): unknown {
  return "active" in rest ? { ...rest, groups: shownIds(groups) } : { ...rest, members: shownIds(members) };
}

/** Everything is as the model has it; an ETag differs from the one before exactly where the resource does. */
function compare(before: Map<string, Shown>, after: Map<string, Shown>, was: Map<string, number>, about: string): void {
  const all = [...tenants.users, ...tenants.groups].map((one) => [`${one.org} ${one.kind} ${one.id}`, one] as const);
  expect([...after.keys()].sort(), about).toEqual(all.map(([key]) => key).sort());
  for (const [key, one] of all) {
    const [held, now] = [before.get(key), after.get(key)];
    expect(now && plain(now), `${about}: ${key}`).toEqual(modelled(one));
    if (held === undefined || now === undefined) continue;
    const { meta: _held, ...heldValue } = held;
    const { meta: _now, ...nowValue } = now;
    const isSame = was.get(key) === one.touched && JSON.stringify(heldValue) === JSON.stringify(nowValue);
    expect(now.meta.version === held.meta.version, `${about}: ETag of ${key}`).toBe(isSame);
    if (isSame) expect(now.meta, about).toEqual(held.meta);
  }
}

/** Carries out a step of the model alone, now and then with an `If-Match`. */
async function alone(directory: Directory, step: Step, before: Map<string, Shown>, org: number): Promise<void> {
  const held = before.get(`${org} ${step.path.slice(1).replace("/", " ")}`);
  const match = held === undefined || random.chance(0.7) ? undefined : random.pick([held.meta.version, "*", 'W/"0"']);
  const wanted = match === 'W/"0"' ? 412 : step.apply();
  const headers: Record<string, string> = match === undefined ? {} : { "if-match": match };
  const answer = await directory.call(step.method, step.path, step.data, headers);
  expect(answer.status, `${JSON.stringify(step)} ${answer.text}`).toBe(wanted);
  if (step.made !== undefined) step.made.id = answer.body.id;
}

/** Carries out several in one Bulk request; they may refer to each other. */
async function together(directory: Directory, org: number): Promise<string> {
  const steps: [Step, wanted: number][] = [];
  for (let left = 2 + random.below(6); left > 0; left--) {
    const step = randomStep(tenants, org);
    steps.push([step, step.apply()]);
  }
  const Operations = steps.map(([{ method, path, data, made }], at) => ({
    ...{ method, path, data },
    ...(method === "POST" && { bulkId: made?.id.slice(7) ?? `none${at}` }),
  }));
  const { body } = await directory.call("POST", "/Bulk", { Operations });
  const outcomes = body.Operations as { status: string; location: string }[];
  const about = JSON.stringify(Operations);
  expect(
    outcomes.map(({ status }) => Number(status)),
    about,
  ).toEqual(steps.map(([, wanted]) => wanted));
  for (const [at, [{ made }]] of steps.entries())
    if (made !== undefined) made.id = outcomes[at]?.location.slice(-36) ?? "";
  return about;
}

/** Somebody who is invited accepts. */
async function accept(user: User): Promise<void> {
  const { orgName } = owners[user.org] as Somebody;
  const mails = await mailsTo(app, user.person.key);
  const token = /token=([\w-]+)/u.exec(mails.findLast(({ text }) => text.includes(orgName))?.text ?? "")?.[1];
  const bearer = await app.login(user.person.key, password, user.person.home);
  const answer = await app.call("POST", "/api/auth/invite/accept", { token: bearer, body: { token } });
  expect(answer.status, answer.text).toBe(200);
  tenants.accept(user);
}

/** Pages of every size and order have each resource once. */
async function walk(org: number): Promise<void> {
  const [directory, kind, count] = [directories[org], random.pick(kinds), 1 + random.below(4)];
  const order = random.pick([
    "",
    "&sortBy=externalId",
    "&sortBy=displayName&sortOrder=descending",
    "&sortBy=meta.created",
  ]);
  const seen: Record<"cursor" | "index", string[]> = { cursor: [], index: [] };
  const page = async (query: string) =>
    (await directory?.call("GET", `/${kind}?count=${count}${order}&${query}`))?.body;
  for (let cursor: string | undefined = ""; cursor !== undefined; ) {
    const body = await page(`cursor=${cursor}`);
    seen.cursor.push(...ids(body.Resources));
    cursor = body.nextCursor;
  }
  for (let startIndex = 1; ; startIndex += count) {
    const body = await page(`startIndex=${startIndex}`);
    seen.index.push(...ids(body.Resources));
    if (startIndex + count > body.totalResults) break;
  }
  const wanted = ids(tenants.of<User | Group>(kind === "Users" ? tenants.users : tenants.groups, org));
  expect([seen.cursor.sort(), seen.index.sort()], `${kind}${order}`).toEqual([wanted, wanted]);
  const active = tenants.of(tenants.users, org).filter((user) => user.active);
  expect(ids(await list(org, "Users", "count=200&filter=active%20eq%20true"))).toEqual(ids(active));
}

test(`${STEPS} random writes of three directories do what a naive model does`, { timeout: 1_200_000 }, async () => {
  await begin();
  const countEvents = "select org_uuid, count(*)::int as n from audit_events where type like 'scim.%' group by 1";
  let before = await everything();
  for (let nth = 0; nth < STEPS; nth++) {
    app.clock.advance(1_000);
    const was = new Map(
      [...tenants.users, ...tenants.groups].map((one) => [`${one.org} ${one.kind} ${one.id}`, one.touched]),
    );
    const org = random.below(3);
    const directory = directories[org] as Directory;
    const invited = tenants.users.find(
      ({ person, ...user }) => user.invited && user.wanted && person.home !== undefined,
    );
    let about = `SCIM_SEED=${SEED} step ${nth} by ${org}: `;
    if (invited !== undefined && random.chance(0.05)) await accept(invited).then(() => (about += "accept"));
    else if (random.chance(0.2)) about += await together(directory, org);
    else {
      const step = randomStep(tenants, org);
      about += JSON.stringify(step);
      await alone(directory, step, before, org);
    }
    const after = await everything();
    compare(before, after, was, about);
    before = after;
    const counted = await runSql<{ org_uuid: string; n: number }>(app.databaseUrl, countEvents);
    const events = owners.map((owner) => counted.find(({ org_uuid }) => org_uuid === owner.org)?.n ?? 0);
    expect(events, about).toEqual(tenants.events);
    if (random.chance(0.1)) await walk(org);
  }
});
