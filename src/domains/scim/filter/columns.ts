import { isUuid } from "../../../platform/value-rules.ts";
import type { Operator } from "./ast.ts";
import type { Comparison } from "./operand.ts";
import type { Column } from "./table.ts";

/** Parameters of a statement. Values of clients are never part of its text. */
export interface Parameters {
  /** Adds a value; returns its placeholder. */
  add(value: unknown): string;
  /** Placeholder of the base URL of the organization's SCIM. */
  baseUrl(): string;
  readonly values: readonly unknown[];
}

/** The parameters of a statement whose first ones are given. */
export function createParameters(first: readonly unknown[], baseUrl: string): Parameters {
  const values = [...first];
  let base: string | undefined;
  const add = (value: unknown): string => `$${values.push(value)}`;
  return { values, add, baseUrl: () => (base ??= `${add(baseUrl)}::text`) };
}

/** A name of a schema as a literal. */
export function textLiteral(name: string): string {
  return `'${name.replaceAll("'", "''")}'`;
}

const signs = { gt: ">", ge: ">=", lt: "<", le: "<=" } as const;

/** The least text above every text with a prefix, in the order of code points; undefined where there is none. */
function above(prefix: string): string | undefined {
  const points = Array.from(prefix, (char) => char.codePointAt(0) as number);
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    if (last === 0x10_ffff) continue;
    return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
  }
  return undefined;
}

function compareText({ sql, notNull }: Column, operator: Operator, value: string, parameters: Parameters): string {
  const text = parameters.add(value);
  const sure = (condition: string): string => (notNull === true ? `(${condition})` : `coalesce(${condition}, false)`);
  switch (operator) {
    case "eq":
      // Without coalesce, so that an index of the column serves.
      return notNull === true ? `${sql} = ${text}` : `(${sql} is not null and ${sql} = ${text})`;
    case "ne":
      return `${sql} is distinct from ${text}`;
    case "co":
      return sure(`strpos(${sql}, ${text}) > 0`);
    case "ew":
      return sure(`right(${sql}, length(${text})) = ${text}`);
    case "sw": {
      const end = above(value);
      const present = notNull === true ? "" : `${sql} is not null and `;
      return `(${present}${sql} >= ${text}${end === undefined ? "" : ` and ${sql} < ${parameters.add(end)}`})`;
    }
    default:
      return sure(`${sql} ${signs[operator]} ${text}`);
  }
}

/** A comparison of a column as a condition that is true or false, never null. */
export function compareColumn(column: Column, operator: Operator, wanted: Comparison, parameters: Parameters): string {
  const { sql, type, notNull } = column;
  if (wanted.type === "absent")
    return notNull === true ? String(operator === "ne") : `${sql} is ${operator === "eq" ? "" : "not "}null`;
  if (type === "uuid" && wanted.type === "text") {
    if (operator === "eq" || operator === "ne")
      return isUuid(wanted.value) && wanted.value === wanted.value.toLowerCase()
        ? `${sql} ${operator === "eq" ? "=" : "<>"} ${parameters.add(wanted.value)}::uuid`
        : String(operator === "ne");
    return compareText({ ...column, sql: `(${sql}::text collate "C")` }, operator, wanted.value, parameters);
  }
  if (wanted.type === "text") return compareText(column, operator, wanted.value, parameters);
  const value = `${parameters.add(wanted.value)}::${wanted.type === "time" ? "timestamptz" : "boolean"}`;
  if (operator === "eq") return notNull === true ? `${sql} = ${value}` : `coalesce(${sql} = ${value}, false)`;
  if (operator === "ne") return `${sql} is distinct from ${value}`;
  const compared = `${sql} ${signs[operator as keyof typeof signs]} ${value}`;
  return notNull === true ? compared : `coalesce(${compared}, false)`;
}
