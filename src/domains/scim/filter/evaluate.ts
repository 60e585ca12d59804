import { isObject } from "../resource/values.ts";
import type { Json, Resource } from "../resource/values.ts";
import { attributeNamed } from "../schema/index.ts";
import type { Attribute } from "../schema/index.ts";
import type { Filter, Operator } from "./ast.ts";
import { comparison } from "./operand.ts";
import type { Comparison } from "./operand.ts";
import { FilterSyntaxError } from "./tokens.ts";

const texts: Readonly<Record<Operator, (held: string, wanted: string) => boolean>> = {
  eq: (held, wanted) => held === wanted,
  ne: (held, wanted) => held !== wanted,
  co: (held, wanted) => held.includes(wanted),
  sw: (held, wanted) => held.startsWith(wanted),
  ew: (held, wanted) => held.endsWith(wanted),
  gt: (held, wanted) => Buffer.compare(Buffer.from(held), Buffer.from(wanted)) > 0,
  ge: (held, wanted) => Buffer.compare(Buffer.from(held), Buffer.from(wanted)) >= 0,
  lt: (held, wanted) => Buffer.compare(Buffer.from(held), Buffer.from(wanted)) < 0,
  le: (held, wanted) => Buffer.compare(Buffer.from(held), Buffer.from(wanted)) <= 0,
};

function compares(
  attribute: Attribute,
  operator: Operator,
  wanted: Comparison,
  held: Json | undefined,
  fold: (text: string) => string,
): boolean {
  if (wanted.type === "absent") return (held === undefined) === (operator === "eq");
  if (held === undefined) return operator === "ne";
  if (wanted.type === "boolean") return (held === wanted.value) === (operator === "eq");
  if (wanted.type === "time" || typeof held !== "string") return false;
  return texts[operator](attribute.caseExact ? held : fold(held), wanted.value);
}

/** What a part is where it is not stored: the `type` of members is always `User`. */
function constantOf({ mutability, canonicalValues }: Attribute): string | undefined {
  return mutability === "immutable" && canonicalValues.length === 1 ? canonicalValues[0] : undefined;
}

/**
 * Compiles a filter over the values of a complex attribute, as in `emails[type eq "work"]`. `fold` is `foldText`, or
 * one that remembers.
 * @throws {FilterSyntaxError} when it names a part that the attribute has not
 */
export function predicateOf(
  attribute: Attribute,
  filter: Filter,
  fold: (text: string) => string,
): (value: Json) => boolean {
  function compile(one: Filter): (value: Resource) => boolean {
    switch (one.kind) {
      case "and": {
        const all = one.terms.map(compile);
        return (value) => all.every((term) => term(value));
      }
      case "or": {
        const any = one.terms.map(compile);
        return (value) => any.some((term) => term(value));
      }
      case "not": {
        const term = compile(one.term);
        return (value) => !term(value);
      }
      case "values":
        throw new FilterSyntaxError("a value path inside another");
      default: {
        const part = attributeNamed(attribute.subAttributes, one.path);
        if (part === undefined) throw new FilterSyntaxError(`${attribute.name} has no part ${one.path}`);
        const held = (value: Resource) => value[part.name] ?? constantOf(part);
        if (one.kind === "present") return (value) => held(value) !== undefined;
        const wanted = comparison(part, one.operator, one.value);
        return (value) => compares(part, one.operator, wanted, held(value), fold);
      }
    }
  }
  const predicate = compile(filter);
  return (value) => isObject(value) && predicate(value);
}

/** The value that a filter describes when it is a conjunction of `eq`, as `type eq "work"` does; else undefined. */
export function described(attribute: Attribute, filter: Filter): Resource | undefined {
  if (filter.kind === "and") {
    const parts = filter.terms.map((term) => described(attribute, term));
    return parts.every((part) => part !== undefined)
      ? Object.fromEntries(parts.flatMap((part) => Object.entries(part)))
      : undefined;
  }
  if (filter.kind !== "compare" || filter.operator !== "eq" || filter.value === null) return undefined;
  const part = attributeNamed(attribute.subAttributes, filter.path);
  if (part === undefined) return undefined;
  const { type } = comparison(part, "eq", filter.value);
  return type === "absent" ? undefined : { [part.name]: filter.value };
}
