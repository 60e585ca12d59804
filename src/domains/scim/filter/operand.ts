import { foldText } from "../resource/values.ts";
import type { Attribute } from "../schema/index.ts";
import type { CompareValue, Operator } from "./ast.ts";
import { FilterSyntaxError } from "./tokens.ts";

/** What a value is compared as. */
export type Comparison =
  | { readonly type: "absent" }
  | { readonly type: "boolean"; readonly value: boolean }
  | { readonly type: "time"; readonly value: Date }
  | { readonly type: "text"; readonly value: string };

const dateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?$/u;
const substring: ReadonlySet<Operator> = new Set(["co", "sw", "ew"]);
const equality: ReadonlySet<Operator> = new Set(["eq", "ne"]);

/** The time of an xsd:dateTime; without a zone it is UTC. */
function readTime(text: string): Date | undefined {
  if (!dateTime.test(text)) return undefined;
  const time = new Date(/(?:Z|[+-]\d\d:\d\d)$/u.test(text) ? text : `${text}Z`);
  return Number.isNaN(time.getTime()) || !isOfCalendar(text) ? undefined : time;
}

/** Whether a date exists: `Date` takes 30 February for 2 March. */
function isOfCalendar(text: string): boolean {
  const day = text.slice(0, 10);
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
}

/**
 * The value that an attribute is compared with, folded where case does not count. An empty text is no value: neither is
 * stored.
 * @throws {FilterSyntaxError} when the value, or the operator, is not one for attributes of this type
 */
export function comparison(attribute: Attribute, operator: Operator, value: CompareValue): Comparison {
  const { name, type, caseExact } = attribute;
  const refuse = (what: string) => new FilterSyntaxError(`${name} ${what}`);
  if (value === null || (value === "" && equality.has(operator))) {
    if (!equality.has(operator)) throw refuse(`is not compared with null by ${operator}`);
    return { type: "absent" };
  }
  if (type === "boolean") {
    if (!equality.has(operator)) throw refuse(`is true or false, and not compared by ${operator}`);
    if (typeof value === "string" ? !/^(?:true|false)$/iu.test(value) : typeof value !== "boolean")
      throw refuse("is true or false");
    return { type: "boolean", value: String(value).toLowerCase() === "true" };
  }
  if (typeof value !== "string") throw refuse("is compared with a string in quotes");
  if (value.includes("\0") || !value.isWellFormed()) throw refuse("is compared with a text that is none");
  if (type === "dateTime") {
    const time = substring.has(operator) ? undefined : readTime(value);
    if (time === undefined)
      throw refuse("is compared with a time as 2011-05-13T04:42:34Z, by eq, ne, gt, ge, lt or le");
    return { type: "time", value: time };
  }
  if (value === "") throw refuse(`is not compared with an empty text by ${operator}`);
  return { type: "text", value: caseExact ? value : foldText(value) };
}
