import { expect, test } from "vitest";
import { readPatch } from "../../src/domains/scim/patch/engine.ts";
import type { Resource } from "../../src/domains/scim/resource/values.ts";
import { USER } from "../../src/domains/scim/schema/index.ts";
import { randomOf } from "../support/random-of.ts";
import type { Random } from "../support/random-of.ts";
import { TEXTS } from "./model.ts";
import { ENTERPRISE_URN, PATCH_URN } from "./support.ts";

const CASES = Number(process.env["SCIM_CASES"] ?? 10_000);
const SEED = Number(process.env["SCIM_SEED"] ?? 7_644);

type Value = Record<string, unknown>;
type Step = { operation: Value; apply(user: Value): "refused" | undefined };

const fold = (value: unknown): string => String(value).normalize("NFC").toLowerCase();
const SIMPLE = ["title", "displayName", "nickName", "userType"];
const PARTS = ["givenName", "familyName", "formatted"];

/** Removes what has no value, as RFC 7643 §2.5 does. */
function tidy(user: Value): Value {
  for (const [name, value] of Object.entries(user)) {
    const list = Array.isArray(value) ? value.filter((one) => Object.keys(one as Value).length > 0) : value;
    if (list === undefined || (typeof list === "object" && Object.keys(list as Value).length === 0)) delete user[name];
    else user[name] = list;
  }
  return user;
}

const part = (user: Value, name: string): Value => (user[name] ??= {}) as Value;
const list = (user: Value, name: string): Value[] => (user[name] ??= []) as Value[];

/** An operation on an attribute of text, with or without a path. */
function simple(random: Random): Step {
  const name = random.pick(SIMPLE);
  const value = random.pick(TEXTS);
  const op = random.pick(["add", "replace", "remove"]);
  const spelt = random.chance(0.3) ? name.toUpperCase() : name;
  const whole = op !== "remove" && random.chance(0.4);
  return {
    operation: whole ? { op, value: { [spelt]: value } } : { op, path: spelt, ...(op === "remove" ? {} : { value }) },
    apply: (user) => void (op === "remove" ? delete user[name] : (user[name] = value)),
  };
}

/** An operation on a part of a complex attribute, of the core schema or the extension. */
function inner(random: Random): Step {
  const enterprise = random.chance(0.4);
  const of = enterprise ? ENTERPRISE_URN : "name";
  const name = enterprise ? random.pick(["department", "division"]) : random.pick(PARTS);
  const path = `${of}${enterprise ? ":" : "."}${name}`;
  const value = random.pick(TEXTS);
  const op = random.pick(["add", "replace", "remove"]);
  const form = op === "remove" ? 0 : random.below(3);
  return {
    operation: [
      { op, path, ...(op === "remove" ? {} : { value }) },
      { op, path: of, value: { [name]: value } },
      { op, value: { [path]: value } },
    ][form] as Value,
    apply: (user) => void (op === "remove" ? delete part(user, of)[name] : (part(user, of)[name] = value)),
  };
}

const newValue = (random: Random): Value => ({
  value: random.pick(TEXTS),
  ...(random.chance(0.5) && { type: random.pick(["work", "home", "Work"]) }),
});
const same = (a: Value, b: Value): boolean =>
  Object.keys(a).length === Object.keys(b).length && Object.keys(a).every((name) => a[name] === b[name]);

/** An operation on all values of an attribute. */
function several(random: Random): Step {
  const name = random.pick(["phoneNumbers", "ims"]);
  const op = random.pick(["add", "replace", "remove"]);
  const value = Array.from({ length: 1 + random.below(2) }, () => newValue(random));
  const withValue = op !== "remove" || random.chance(0.5);
  return {
    operation: { op, path: name, ...(withValue && { value: random.chance(0.3) ? value[0] : value }) },
    apply(user) {
      const given = Array.isArray(this.operation["value"]) ? value : value.slice(0, 1);
      const held = list(user, name);
      if (op === "remove")
        user[name] = withValue
          ? held.filter(
              (one) => !given.some((gone) => Object.keys(gone).every((key) => fold(one[key]) === fold(gone[key]))),
            )
          : [];
      else {
        if (op === "replace") held.length = 0;
        for (const one of given) if (!held.some((other) => same(other, one))) held.push({ ...one });
      }
      return undefined;
    },
  };
}

/** An operation on the values that a filter selects. */
function selected(random: Random): Step {
  const name = random.pick(["phoneNumbers", "ims"]);
  const type = random.pick(["work", "home"]);
  const op = random.pick(["add", "replace", "remove"]);
  const sub = random.chance(0.6) ? random.pick(["value", "display"]) : undefined;
  const value = random.pick(TEXTS);
  const whole = { value, display: value };
  return {
    operation: {
      op,
      path: `${name}[type eq "${type}"]${sub === undefined ? "" : `.${sub}`}`,
      ...(op === "remove" ? {} : { value: sub === undefined ? whole : value }),
    },
    apply(user) {
      const held = list(user, name);
      const matching = held.filter((one) => one["type"] !== undefined && fold(one["type"]) === type);
      if (op === "remove" && sub === undefined) user[name] = held.filter((one) => !matching.includes(one));
      else if (op === "remove") for (const one of matching) delete one[sub ?? ""];
      else {
        if (matching.length === 0 && op === "replace") return "refused";
        if (matching.length === 0) {
          matching.push({ type });
          held.push(matching[0] as Value);
        }
        for (const one of matching) {
          if (sub !== undefined) one[sub] = value;
          else {
            if (op === "replace") for (const key of Object.keys(one)) delete one[key];
            Object.assign(one, whole);
          }
        }
      }
      return undefined;
    },
  };
}

test(`${CASES} random PATCH bodies do what a naive model does, and leave the resource before as it was`, () => {
  const random = randomOf(SEED);
  let user: Value = { userName: "model" };
  for (let n = 0; n < CASES; n++) {
    const steps = Array.from({ length: 1 + random.below(4) }, () =>
      random.pick([simple, inner, several, selected])(random),
    );
    const body = { schemas: [PATCH_URN], Operations: steps.map(({ operation }) => operation) };
    const before = structuredClone(user);
    const model = structuredClone(user);
    let refused = false;
    for (const step of steps) {
      if (refused) break;
      refused = step.apply(model) === "refused";
      tidy(model);
    }
    let seen: unknown;
    try {
      seen = readPatch(USER, body)(user as Resource);
    } catch (error) {
      seen = (error as { scimType?: string }).scimType;
    }
    const about = `SCIM_SEED=${SEED} case ${n}: ${JSON.stringify(body)} on ${JSON.stringify(before)}`;
    expect(seen, about).toEqual(refused ? "noTarget" : model);
    expect(user, about).toEqual(before);
    user = refused || n % 20 === 19 ? { userName: "model" } : model;
  }
});
