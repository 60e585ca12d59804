import type { Random } from "../support/random-of.ts";
import { PATCH_URN } from "./support.ts";

type Value = Record<string, unknown>;

/** A person with an account. */
export interface Person {
  key: string;
  /** Organization whose directory made them. */
  madeBy?: number;
  /** Organization in which somebody with a password signs in. */
  home?: string;
  memberOf: Set<number>;
}

/** A user of an organization. */
export interface User {
  kind: "Users";
  org: number;
  id: string;
  person: Person;
  data: Value;
  active: boolean;
  invited: boolean;
  wanted: boolean;
  isOwner: boolean;
  /** Changes with each change of the user. */
  touched: number;
}

/** A group of an organization. */
export interface Group {
  kind: "Groups";
  org: number;
  id: string;
  data: Value;
  members: Set<User>;
  touched: number;
}

/** A request, and what it does. `resource` is what a creation made. */
export interface Step {
  method: string;
  path: string;
  data?: Value;
  /** Does it in the model; returns the status. */
  apply(): number;
  made?: User | Group;
}

export const lower = (value: unknown): string => String(value).toLowerCase();
const addressOf = (data: Value): string => lower((data["emails"] as { value: string }[] | undefined)?.[0]?.value);
export const same = (a: Value, b: Value): boolean => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
const sorted = (data: Value): unknown => Object.entries(data).sort(([a], [b]) => (a < b ? -1 : 1));

/** Several organizations with a directory each, who know some of the same people. */
export class Tenants {
  readonly users: User[] = [];
  readonly groups: Group[] = [];
  readonly people: Person[] = [];
  /** Events that each organization must have had of its directory. */
  readonly events: number[];
  /** Resources that are no more. */
  readonly gone: (User | Group)[] = [];
  readonly random: Random;
  readonly #domain: string;
  #touches = 0;
  #made = 0;

  /** `domain`: of the addresses of all people. */
  constructor(random: Random, domain: string, orgs: number) {
    this.random = random;
    this.#domain = domain;
    this.events = Array.from({ length: orgs }, () => 0);
  }

  of<T extends User | Group>(list: readonly T[], org: number): T[] {
    return list.filter((one) => one.org === org);
  }

  /** Somebody accepts an invitation. */
  accept(user: User): void {
    Object.assign(user, { active: true, invited: false });
    user.person.memberOf.add(user.org);
    this.touch(user);
  }

  /** The id of a resource until the service has given it one. */
  bulkId(): string {
    return `bulkId:${++this.#made}`;
  }

  touch(resource: User | Group): void {
    resource.touched = ++this.#touches;
  }

  #attributes(): Value {
    const random = this.random;
    return {
      userName: random.pick(["ann", "Bob", "cy", "dan", "Éva", "fay", "gus", "ANN", "hal"]),
      emails: [{ value: random.pick(["a", "b", "c", "d", "e", "F", "known1", "known2", "A"]) + `@${this.#domain}` }],
      ...(random.chance(0.4) && { title: random.pick(["Guide", "Chief"]) }),
      ...(random.chance(0.3) && { externalId: random.pick(["x1", "x2"]) }),
    };
  }

  #isNameTaken(org: number, userName: unknown, but?: User): boolean {
    return this.of(this.users, org).some((one) => one !== but && lower(one.data["userName"]) === lower(userName));
  }

  /** An organization has had an event. */
  record(org: number): void {
    this.events[org] = (this.events[org] ?? 0) + 1;
  }

  /** Whether SCIM of an organization may write to a person (decisions 8.8). */
  #isOwn(person: Person, org: number): boolean {
    return person.madeBy === org && person.home === undefined && [...person.memberOf].every((one) => one === org);
  }

  createUser(org: number): Step {
    const attributes = this.#attributes();
    const active = this.random.pick([true, true, undefined, false]);
    const data = { ...attributes, ...(active !== undefined && { active }) };
    const step: Step = {
      method: "POST",
      path: "/Users",
      data,
      apply: () => {
        const key = addressOf(attributes);
        const known = this.people.find((one) => one.key === key);
        const isThere = this.of(this.users, org).some(({ person }) => person === known);
        if (isThere || this.#isNameTaken(org, attributes["userName"])) return 409;
        const person = known ?? { key, madeBy: org, memberOf: new Set() };
        if (known === undefined) this.people.push(person);
        const invited = known !== undefined && !this.#isOwn(person, org);
        if (!invited) person.memberOf.add(org);
        const [wanted, id] = [active ?? true, this.bulkId()];
        const rest = { org, id, person, data: attributes, invited, wanted, isOwner: false, touched: 0 };
        const user: User = { kind: "Users", ...rest, active: !invited && wanted };
        this.users.push(user);
        step.made = user;
        this.touch(user);
        this.record(org);
        return 201;
      },
    };
    return step;
  }

  #become(user: User, data: Value, active: boolean | undefined): number {
    const { org, person, invited } = user;
    const was = invited ? user.wanted : user.active;
    const wanted = active ?? was;
    if (this.#isNameTaken(org, data["userName"], user) || (user.isOwner && !wanted)) return 409;
    const isOther = !same(user.data, data);
    const key = addressOf(data);
    if (isOther && !invited && this.#isOwn(person, org) && key !== person.key) {
      if (this.people.some((one) => one.key === key)) return 409;
      person.key = key;
      // An invitation was sent to the address that the person no longer has.
      for (const one of this.users.filter((other) => other.person === person && other.invited)) this.#leave(one);
    }
    if (!isOther && wanted === was) return 200;
    user.data = data;
    if (invited) user.wanted = wanted;
    else user.active = wanted;
    this.touch(user);
    this.record(org);
    return 200;
  }

  putUser(user: User): Step {
    const random = this.random;
    const data = random.chance(0.3)
      ? user.data
      : random.chance(0.5)
        ? { ...user.data, title: "Put" }
        : this.#attributes();
    const active = random.pick([true, undefined, undefined, false]);
    const body = { ...data, ...(active !== undefined && { active }) };
    const apply = () => (this.users.includes(user) ? this.#become(user, data, active) : 404);
    return { method: "PUT", path: `/Users/${user.id}`, data: body, apply };
  }

  patchUser(user: User): Step {
    const random = this.random;
    const { userName, emails } = this.#attributes();
    const active = random.chance(0.5);
    const [operation, change] = random.pick<[Value, Value | undefined]>([
      [{ op: "replace", path: "title", value: "Patched" }, { title: "Patched" }],
      [{ op: "remove", path: "title" }, { title: undefined }],
      [{ op: "add", value: { userName } }, { userName }],
      [
        { op: "replace", value: { emails, title: "Moved" } },
        { emails, title: "Moved" },
      ],
      [{ op: "Replace", path: "active", value: active ? "True" : "False" }, undefined],
    ]);
    return {
      method: "PATCH",
      path: `/Users/${user.id}`,
      data: { schemas: [PATCH_URN], Operations: [operation] },
      apply: () => {
        if (!this.users.includes(user)) return 404;
        if (change === undefined) return this.#become(user, user.data, active);
        const next = Object.entries({ ...user.data, ...change }).filter(([, value]) => value !== undefined);
        return this.#become(user, Object.fromEntries(next), undefined);
      },
    };
  }

  /** A user is gone, from their groups too. */
  #leave(user: User): void {
    this.users.splice(this.users.indexOf(user), 1);
    this.gone.push(user);
    for (const group of this.groups) if (group.members.delete(user)) this.touch(group);
  }

  delete(resource: User | Group): Step {
    const { org } = resource;
    return {
      method: "DELETE",
      path: `/${resource.kind}/${resource.id}`,
      apply: () => {
        if (resource.kind === "Users") {
          if (!this.users.includes(resource)) return 404;
          if (resource.isOwner) return 409;
          if (!resource.invited) resource.person.memberOf.delete(org);
          this.#leave(resource);
        } else {
          if (!this.groups.includes(resource)) return 404;
          this.groups.splice(this.groups.indexOf(resource), 1);
          this.gone.push(resource);
        }
        this.record(org);
        return 204;
      },
    };
  }
}
