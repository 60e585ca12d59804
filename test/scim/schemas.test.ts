import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { GROUP, USER } from "../../src/domains/scim/schema/index.ts";
import type { Attribute, ResourceKind } from "../../src/domains/scim/schema/index.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import { directoryOf, refusal } from "./support.ts";
import type { Directory } from "./support.ts";

let app: TestApp;
let directory: Directory;
let member: string;
let made = 0;
beforeAll(async () => {
  app = await startApp();
  directory = await directoryOf(app, await founder(app));
  member = (await directory.user({ userName: "member@schemas.test" })).id;
});
afterAll(() => app.close());

type Value = Record<string, unknown>;

const isWritable = ({ mutability }: Attribute): boolean => mutability !== "readOnly";

/** A value of an attribute, told from others by `n`. */
function sample({ name, type, multiValued, subAttributes }: Attribute, n: number): unknown {
  if (name === "userName" || name === "emails") n = ++made;
  const one =
    type === "boolean"
      ? true
      : type === "complex"
        ? Object.fromEntries(subAttributes.filter(isWritable).map((part) => [part.name, sample(part, n)]))
        : name === "userName"
          ? `Schema${n}@Scim.test`
          : `Value ${n}`;
  if (name === "emails") return [{ ...(one as Value), value: `address${n}@scim.test` }];
  if (name === "members") return [{ value: member }];
  return multiValued ? [one] : one;
}

const create = (kind: ResourceKind, more: Value = {}) =>
  directory.call("POST", kind.endpoint, {
    ...(kind === USER ? { userName: `schema${++made}@scim.test` } : { displayName: `Schema ${++made}` }),
    ...more,
  });
const at = (resource: Value, urn: string | undefined): Value =>
  urn === undefined ? resource : ((resource[urn] ?? {}) as Value);

const attributes = [USER, GROUP].flatMap((kind) => [
  ...kind.core.attributes.map((attribute) => [kind.name, attribute.name, kind, undefined, attribute] as const),
  ...kind.extensions.flatMap(({ urn, attributes: own }) =>
    own.map((attribute) => [kind.name, attribute.name, kind, urn, attribute] as const),
  ),
]);

describe.each(attributes)("%s %s", (_kind, name, kind, urn, attribute) => {
  const path = urn === undefined ? name : `${urn}:${name}`;
  const within = (value: unknown): Value => (urn === undefined ? { [name]: value } : { [urn]: { [name]: value } });

  test("an attribute is written and returned as its schema says", async () => {
    const value = sample(attribute, 1);
    const answer = await create(kind, within(value));
    expect(answer.status, answer.text).toBe(201);
    const { id } = answer.body as { id: string };
    const held = at(answer.body as Value, urn)[name];
    if (attribute.mutability === "readOnly") {
      expect(held).toBeUndefined();
      const path_ = await directory.patch(`${kind.endpoint}/${id}`, { op: "replace", path, value });
      expect(refusal(path_)).toBe("400 mutability validation_error");
      const whole = await directory.patch(`${kind.endpoint}/${id}`, { op: "replace", value: within(value) });
      expect([whole.status, at(whole.body as Value, urn)[name]]).toEqual([200, undefined]);
      return;
    }
    if (name === "members") expect(held).toMatchObject(value as Value[]);
    else expect(held).toEqual(value);
    const found = await directory.call(
      "GET",
      `${kind.endpoint}?filter=${encodeURIComponent(`${path} pr and id eq "${id}"`)}`,
    );
    expect(found.body.totalResults, found.text).toBe(1);
    const only = await directory.call("GET", `${kind.endpoint}/${id}?attributes=${encodeURIComponent(path)}`);
    expect(Object.keys(only.body as Value).sort()).toEqual(["id", "schemas", urn ?? name].sort());
    const without = await directory.call(
      "GET",
      `${kind.endpoint}/${id}?excludedAttributes=${encodeURIComponent(path)}`,
    );
    expect(at(without.body as Value, urn)[name]).toBeUndefined();
    const removed = await directory.patch(`${kind.endpoint}/${id}`, { op: "remove", path });
    if (attribute.required) {
      expect(refusal(removed)).toBe("400 mutability validation_error");
      const emails = [{ value: `without${++made}@scim.test` }];
      expect(refusal(await create(kind, { [name]: undefined, emails }))).toBe("400 invalidValue validation_error");
    } else if (name === "active") expect(removed.body.active).toBe(true);
    else expect(at(removed.body as Value, urn)[name], removed.text).toBeUndefined();
  });

  test("a value of another kind is refused", async () => {
    if (attribute.mutability === "readOnly") return;
    const wrong = attribute.type === "complex" ? [5] : attribute.type === "boolean" ? ["maybe", 5] : [5, { a: 1 }, [1]];
    for (const value of wrong) {
      const answer = await create(kind, within(attribute.multiValued ? [value] : value));
      expect(refusal(answer), JSON.stringify(value)).toBe("400 invalidValue validation_error");
    }
  });

  test("case counts, and values are unique, as its schema says", async () => {
    if (attribute.type !== "string" && attribute.type !== "reference") return;
    const value = sample(attribute, 7) as string;
    const { id } = (await create(kind, within(value))).body as { id: string };
    const filter = `${path} eq ${JSON.stringify(value.toUpperCase())} and id eq "${id}"`;
    const found = await directory.call("GET", `${kind.endpoint}?filter=${encodeURIComponent(filter)}`);
    expect(found.body.totalResults, found.text).toBe(attribute.caseExact ? 0 : 1);
    const twin = await create(kind, within(value.toUpperCase()));
    expect(refusal(twin)).toBe(attribute.uniqueness === "server" ? "409 uniqueness conflict" : "201");
  });
});

const parts = attributes.flatMap(([kindName, name, kind, urn, attribute]) =>
  attribute.subAttributes.map((part) => [kindName, `${name}.${part.name}`, { kind, urn, attribute, part }] as const),
);

describe.each(parts)("%s %s", (_kind, dotted, { kind, urn, attribute, part }) => {
  const prefix = urn === undefined ? "" : `${urn}:`;
  const parent = `${prefix}${attribute.name}`;
  const within = (value: unknown): Value =>
    urn === undefined ? { [attribute.name]: value } : { [urn]: { [attribute.name]: value } };
  /** The value of the part in a resource. */
  const held = (resource: Value): unknown =>
    ([at(resource, urn)[attribute.name] ?? []].flat() as Value[])[0]?.[part.name];

  async function created(): Promise<{ id: string; body: Value }> {
    const { status, body, text } = await create(kind, isWritable(attribute) ? within(sample(attribute, 1)) : {});
    expect(status, text).toBe(201);
    return { id: body.id as string, body: body as Value };
  }

  test("a part is written and changed as its schema says", async () => {
    const { id, body } = await created();
    const value = part.type === "boolean" ? false : dotted === "emails.value" ? `p${++made}@scim.test` : "Another";
    const one = attribute.name === "members" ? `[value eq "${member}"]` : "[primary eq true]";
    const path = `${parent}${attribute.multiValued && isWritable(attribute) ? one : ""}.${part.name}`;
    const changed = await directory.patch(`${kind.endpoint}/${id}`, { op: "replace", path, value });
    if (part.mutability === "readWrite") {
      expect([changed.status, held(changed.body as Value)], changed.text).toEqual([200, value]);
      return;
    }
    expect(refusal(changed)).toBe("400 mutability validation_error");
    const after = await directory.call("GET", `${kind.endpoint}/${id}`);
    expect(after.body).toEqual(body);
    if (part.mutability === "immutable") return;
    const sent = { ...(attribute.multiValued ? {} : (sample(attribute, 1) as Value)), [part.name]: "Sent" };
    const ignored = await create(kind, within(attribute.multiValued ? [sent] : sent));
    expect([ignored.status, held(ignored.body as Value)], ignored.text).toEqual([201, undefined]);
  });

  test("case of a part counts as its schema says", async () => {
    const { id, body } = await created();
    const value = held(body);
    if (typeof value !== "string") return;
    for (const [entered, total] of [
      [value, 1],
      [value.toUpperCase(), part.caseExact ? 0 : 1],
    ] as const) {
      const filter = `${parent}.${part.name} eq ${JSON.stringify(entered)} and id eq "${id}"`;
      const found = await directory.call("GET", `${kind.endpoint}?filter=${encodeURIComponent(filter)}`);
      expect(found.body.totalResults, `${filter}: ${found.text}`).toBe(total);
    }
  });
});

/** An attribute as RFC 7643 §7 writes it: what is said of text alone, and of values alone, only where there are any. */
function written({ subAttributes, caseExact, uniqueness, ...attribute }: Attribute): Value {
  const { canonicalValues, referenceTypes, ...rest } = attribute;
  const isText = rest.type === "string" || rest.type === "reference";
  return {
    ...rest,
    ...(isText && { caseExact, uniqueness }),
    ...(canonicalValues.length > 0 && { canonicalValues }),
    ...(referenceTypes.length > 0 && { referenceTypes }),
    ...(subAttributes.length > 0 && { subAttributes: subAttributes.map(written) }),
  };
}

test("the schemas that are served are those the service goes by", async () => {
  const { body } = await directory.call("GET", "/Schemas");
  const served = (body.Resources as Value[]).map(({ id, name, description, attributes: list }) => ({
    ...{ id, name, description },
    attributes: list,
  }));
  const known = [USER, GROUP].flatMap(({ core, extensions }) => [core, ...extensions]);
  expect(served).toEqual(
    known.map(({ urn, attributes: list, ...rest }) => ({ id: urn, ...rest, attributes: list.map(written) })),
  );
  for (const { id } of served) {
    const one = await directory.call("GET", `/Schemas/${id as string}`);
    expect(one.body).toEqual((body.Resources as Value[]).find((schema) => schema["id"] === id));
  }
});
