import { lower, same } from "./tenants-model.ts";
import type { Group, Step, Tenants, User } from "./tenants-model.ts";
import { PATCH_URN } from "./support.ts";

type Value = Record<string, unknown>;

const isPending = ({ id }: { id: string }): boolean => id.startsWith("bulkId");
const referred = (members: readonly User[]) => members.map(({ id }) => ({ value: id }));

function some({ random }: Tenants, users: readonly User[]): User[] {
  return users.filter(() => random.chance(0.4));
}

/** Some users of an organization, and now and then one of another. */
function someMembers(tenants: Tenants, users: readonly User[]): User[] {
  const { random } = tenants;
  const stranger = random.pick(tenants.users.filter(({ org }) => org !== users[0]?.org));
  // Who is created in the same request may be the same person.
  const isUnknown = stranger !== undefined && users.every((one) => one.id !== stranger.id && !isPending(one));
  return isUnknown && random.chance(0.05) ? [stranger] : some(tenants, users);
}

function groupData({ random }: Tenants): Value {
  const displayName = random.pick(["Red", "RED", "Blue", "Green", "Étoile", "étoile"]);
  return { displayName, ...(random.chance(0.3) && { externalId: random.pick(["g1", "g2"]) }) };
}

/** 409 for a name that a group has, 400 for a member who is no user of the organization, otherwise 200. */
function judge({ groups, users }: Tenants, org: number, data: Value, members: readonly User[], but?: Group): number {
  const name = lower(data["displayName"]);
  if (groups.some((one) => one.org === org && one !== but && lower(one.data["displayName"]) === name)) return 409;
  return members.every((one) => one.org === org && users.includes(one)) ? 200 : 400;
}

function createGroup(tenants: Tenants, org: number, users: readonly User[]): Step {
  const [data, members] = [groupData(tenants), someMembers(tenants, users)];
  const step: Step = {
    method: "POST",
    path: "/Groups",
    data: { ...data, members: referred(members) },
    apply() {
      const judged = judge(tenants, org, data, members);
      if (judged !== 200) return judged;
      step.made = { kind: "Groups", org, id: tenants.bulkId(), data, members: new Set(members), touched: 0 };
      tenants.groups.push(step.made);
      tenants.touch(step.made);
      tenants.record(org);
      return 201;
    },
  };
  return step;
}

function become(tenants: Tenants, group: Group, data: Value, members: readonly User[]): number {
  if (!tenants.groups.includes(group)) return 404;
  const isSame = members.length === group.members.size && members.every((one) => group.members.has(one));
  if (isSame && same(data, group.data)) return 200;
  const judged = judge(tenants, group.org, data, members, group);
  if (judged !== 200) return judged;
  Object.assign(group, { data, members: new Set(members) });
  tenants.touch(group);
  tenants.record(group.org);
  return 200;
}

function putGroup(tenants: Tenants, group: Group, users: readonly User[]): Step {
  const { random } = tenants;
  const [data, members] = random.chance(0.3)
    ? [group.data, [...group.members]]
    : [random.chance(0.5) ? group.data : groupData(tenants), someMembers(tenants, users)];
  const body = { ...data, members: referred(members) };
  const apply = () => become(tenants, group, data, members);
  return { method: "PUT", path: `/Groups/${group.id}`, data: body, apply };
}

function patchGroup(tenants: Tenants, group: Group, users: readonly User[]): Step {
  const { random } = tenants;
  const [chosen, { displayName }] = [some(tenants, users), groupData(tenants)];
  const value = referred(chosen);
  const held = () => [...group.members];
  // A filter is not resolved in a Bulk request; the owner is always there.
  const one = random.pick(users.filter((user) => !isPending(user)));
  const [operation, next] = random.pick<[Value, () => [Value, User[]]]>([
    [{ op: "add", path: "members", value }, () => [group.data, [...new Set([...held(), ...chosen])]]],
    [{ op: "replace", path: "members", value }, () => [group.data, chosen]],
    [{ op: "Remove", path: "members", value }, () => [group.data, held().filter((user) => !chosen.includes(user))]],
    [
      { op: "remove", path: `members[value eq "${one.id}"]` },
      () => [group.data, held().filter((user) => user !== one)],
    ],
    [{ op: "replace", value: { displayName } }, () => [{ ...group.data, displayName }, held()]],
  ]);
  return {
    method: "PATCH",
    path: `/Groups/${group.id}`,
    data: { schemas: [PATCH_URN], Operations: [operation] },
    apply: () => become(tenants, group, ...next()),
  };
}

/** A random request of the directory of an organization. */
export function randomStep(tenants: Tenants, org: number): Step {
  const { random } = tenants;
  const [users, groups] = [tenants.of(tenants.users, org), tenants.of(tenants.groups, org)];
  const [user, group] = [random.pick(users), random.pick(groups)];
  const gone = random.pick(tenants.of(tenants.gone, org).filter(({ id }) => users.every((one) => one.id !== id)));
  // Who is created in the same request may have the id of somebody who is gone.
  if (gone !== undefined && !users.some(isPending) && random.chance(0.04))
    return { method: "DELETE", path: `/${gone.kind}/${gone.id}`, apply: () => 404 };
  if (user === undefined || random.chance(0.25)) return tenants.createUser(org);
  if (random.chance(0.3)) return random.chance(0.5) ? tenants.putUser(user) : tenants.patchUser(user);
  if (random.chance(0.15)) return tenants.delete(user);
  if (group === undefined || random.chance(0.25)) return createGroup(tenants, org, users);
  if (random.chance(0.1)) return tenants.delete(group);
  return random.chance(0.4) ? putGroup(tenants, group, users) : patchGroup(tenants, group, users);
}
