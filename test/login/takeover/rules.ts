import { caller, ownerOf } from "./world.ts";
import type { World } from "./world.ts";

/** The account of the victim's address. */
export interface Account {
  uuid: string;
  /** Its address was confirmed, or its mailbox proven. */
  proven: boolean;
  confirmed: boolean;
  memberships: { org: string; status: string }[];
  /** Ids of the active second factors. */
  factors: number[];
}

/** The account of the victim's address as it is stored; undefined when there is none. */
export async function accountOf({ client, victim }: World): Promise<Account | undefined> {
  const sql = `select p.uuid, p.email_confirmed_at is not null as confirmed,
      coalesce(p.email_confirmed_at, p.mailbox_proven_at) is not null as proven,
      array (select f.id::int from mfa_factors f where f.user_uuid = p.uuid and f.status = 'active') as factors,
      (select coalesce(json_agg(json_build_object('org', m.org_uuid, 'status', m.status)), '[]')
        from memberships m join organizations o on o.uuid = m.org_uuid and o.deleted_at is null
        where m.user_uuid = p.uuid and m.status <> 'removed') as memberships
    from people p where p.email_key = $1`;
  return (await client.query<Account>(sql, [victim.email])).rows[0];
}

const isIn = (account: Account | undefined, org: string, status?: string): boolean =>
  account?.memberships.some((one) => one.org === org && (status === undefined || one.status === status)) === true;

/** Whether nobody but the hostile organization, and those it has founded, has a say over the account. */
const isTheirsAlone = ({ hostile, loot }: World, { memberships }: Account): boolean =>
  memberships.every(({ org }) => org === hostile.org || loot.founded.has(org));

/** What the hostile side may not have, by what it can do with all it holds; undefined when everything is right. */
async function trespass(world: World, account: Account | undefined): Promise<string | undefined> {
  const { hostile, home, victim, loot, insider } = world;
  const call = caller(world);
  const isGoverned = isIn(account, hostile.org, "active");
  const kept: string[] = [];
  for (const token of new Set(loot.tokens)) {
    const { status, body } = await call("GET", "/api/auth/me", token);
    if (status !== 200) continue;
    kept.push(token);
    const { user_uuid: who, org_uuid: org } = body as { user_uuid: string; org_uuid: string | null };
    if (who === insider.userUuid || (victim.trusts && isGoverned && who === account?.uuid)) continue;
    if (org !== null && (org === home.org || victim.own.has(org))) return `a token opens ${org} as ${who}`;
    // Whoever could act for the victim everywhere may have linked more.
    if (who !== account?.uuid || !account.proven || victim.trusts) continue;
    if (!isGoverned) return "a token acts for a person over whom the hostile organization has no say";
    if (org !== hostile.org && !loot.founded.has(org ?? "")) return `a token acts for the victim in ${org}`;
  }
  loot.tokens.splice(0, Infinity, ...kept);
  for (const key of loot.keys) {
    const { status, body } = await call("GET", "/api/auth/me", key);
    if (status === 200 && (body.org_uuid === home.org || victim.own.has(body.org_uuid))) return "a key opens home";
  }
  if (account?.proven === true && loot.passwords.size > 0)
    for (const used of loot.passwords) {
      const { status } = await call("POST", "/api/auth/login", undefined, { email: victim.email, password: used });
      if (status !== 401) return `a password of the hostile side answers ${status}`;
    }
  return undefined;
}

/** Whether second factors of the hostile side keep the victim out of an account that is theirs. */
function hostageFault(world: World, before: Account | undefined, after: Account | undefined): string | undefined {
  const { victim, loot } = world;
  if (after === undefined) return undefined;
  const theirs = (account: Account | undefined): number[] =>
    account?.factors.filter((id) => loot.factors.has(id)) ?? [];
  if (theirs(after).length === 0) {
    victim.hostage = false;
    return undefined;
  }
  const isNew = theirs(after).some((id) => !theirs(before).includes(id));
  if (isNew && after.proven && before !== undefined) {
    if (!isTheirsAlone(world, before) && !victim.trusts) return "a factor was added against another organization";
    victim.hostage = true;
  }
  return after.confirmed && !victim.hostage ? "an account was confirmed with a factor of the hostile side" : undefined;
}

/** Nobody but the victim is in their organization, and its log says what happened to them. */
async function homeFault(
  world: World,
  before: Account | undefined,
  after: Account | undefined,
): Promise<string | undefined> {
  const { home, victim, insider } = world;
  const call = caller(world);
  const token = await ownerOf(world, home);
  const { body } = await call("GET", "/api/users?limit=200", token);
  const strangers = (body.data as { email: string }[])
    .map(({ email }) => email.toLowerCase())
    .filter((email) => ![home.ownerEmail, insider.email, victim.email].includes(email));
  if (strangers.length > 0) return `${strangers.join()} is a member`;
  const statusOf = (account: Account | undefined): string | undefined =>
    account?.memberships.find(({ org }) => org === home.org)?.status;
  if (before?.uuid === after?.uuid && statusOf(before) === statusOf(after)) return undefined;
  if (statusOf(before) === undefined && statusOf(after) === undefined) return undefined;
  const { body: log } = await call("GET", `/api/organizations/${home.org}/audit-events?limit=30`, token);
  const about = new Set([before?.uuid, after?.uuid]);
  const told = (log.data as { resource_id: string; user_uuid: string }[]).some(
    ({ resource_id: id, user_uuid: uuid }) => about.has(id) || about.has(uuid),
  );
  return told ? undefined : "the log of the victim's organization does not say so";
}

/** The hostile organization sees nothing of the others. */
async function leak(world: World): Promise<string | undefined> {
  const { hostile, home, victim } = world;
  const call = caller(world);
  const token = await ownerOf(world, hostile);
  const texts = [
    (await call("GET", "/api/users?limit=200", token)).text,
    (await call("GET", `/api/organizations/${hostile.org}/audit-events?limit=500`, token)).text,
    (await call("GET", `/api/organizations/${hostile.org}/session-inventory`, token)).text,
    (await call("GET", `/api/admin/organizations/${hostile.org}/invitations`, token)).text,
    (await hostile.directory.call("GET", "/Users")).text,
  ];
  const secret = [home.org, home.name, ...victim.own];
  return secret.find((one) => texts.some((text) => text.includes(one)));
}

/** What a step has broken; undefined when everything is right. */
export async function faultAfter(
  world: World,
  before: Account | undefined,
  after: Account | undefined,
): Promise<string | undefined> {
  return (
    (await trespass(world, after)) ?? hostageFault(world, before, after) ?? (await homeFault(world, before, after))
  );
}

/** What the hostile organization has learnt of the others; undefined for nothing. */
export async function leakTo(world: World): Promise<string | undefined> {
  const found = await leak(world);
  return found === undefined ? undefined : `the hostile organization has learnt ${found}`;
}
