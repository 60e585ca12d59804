import type { Json, Resource } from "../resource/values.ts";
import { attributeNamed, resolvePath } from "../schema/index.ts";
import type { Attribute, ResourceKind, Target } from "../schema/index.ts";
import type { Filter, Operator } from "./ast.ts";
import { compareColumn, textLiteral } from "./columns.ts";
import type { Parameters } from "./columns.ts";
import { comparison } from "./operand.ts";
import { withBaseUrl } from "./table.ts";
import type { Column, Table, ValueRows } from "./table.ts";
import { FilterSyntaxError } from "./tokens.ts";

type Compare = Extract<Filter, { kind: "compare" }>;

/** A value inside nested members: `{"name": {"givenName": value}}`. */
function nested(keys: readonly string[], value: Json): Json {
  return keys.reduceRight<Json>((inner, key) => ({ [key]: inner }), value);
}

/** The keys of a target in a folded resource. */
function keysOf({ extension, attribute, sub }: Target): string[] {
  return [extension, attribute?.name, sub?.name].filter((key) => key !== undefined);
}

/** `a -> 'b' -> 'c'`, the last step as text when asked. */
function step(json: string, keys: readonly string[], last: "->" | "->>"): string {
  return keys.reduce((sql, key, at) => `${sql} ${at === keys.length - 1 ? last : "->"} ${textLiteral(key)}`, json);
}

/** Compiles filters of one kind of resource to SQL with parameters. Every condition is true or false, never null. */
export function createCompiler(kind: ResourceKind, table: Table, parameters: Parameters) {
  const { folded } = table;

  function resolve(path: string): Target {
    const target = resolvePath(kind, path);
    if (target === undefined) throw new FilterSyntaxError(`${kind.name} has no attribute ${path}`);
    return target;
  }

  const open = ({ sql, ...column }: Column): Column => ({ ...column, sql: withBaseUrl(sql, parameters.baseUrl) });

  function columnOf({ extension, attribute, sub }: Target): Column | undefined {
    if (extension !== undefined || attribute === undefined) return undefined;
    const column = table.columns[sub === undefined ? attribute.name : `${attribute.name}.${sub.name}`];
    return column && open(column);
  }

  function rowsOf({ extension, attribute }: Target): ValueRows | undefined {
    return extension === undefined ? table.rows[attribute?.name ?? ""] : undefined;
  }

  const exists = (from: string, condition: string): string => `exists (select ${from} ${condition})`;
  const elements = (keys: readonly string[]): string => `from jsonb_array_elements(${step(folded, keys, "->")}) e`;

  /** A comparison with a part of a value; `path` is the part. */
  function comparePart(part: Attribute, rows: ValueRows | undefined, { operator, value }: Compare): string {
    const wanted = comparison(part, operator, value);
    if (rows === undefined) {
      const type = part.type === "boolean" ? "boolean" : "text";
      const text = `e.value ->> ${textLiteral(part.name)}`;
      const sql = type === "boolean" ? `(${text})::boolean` : `(${text}) collate "C"`;
      return compareColumn({ sql, type }, operator, wanted, parameters);
    }
    const column = rows.columns[part.name];
    if (column === undefined) throw new FilterSyntaxError(`${part.name} cannot be compared`);
    return compareColumn(open(column), operator, wanted, parameters);
  }

  /** A condition on one value of an attribute. */
  function compileParts(attribute: Attribute, rows: ValueRows | undefined, filter: Filter): string {
    if (filter.kind === "values") throw new FilterSyntaxError("a value path inside another");
    if (filter.kind === "not") return `not (${compileParts(attribute, rows, filter.term)})`;
    if ("terms" in filter)
      return `(${filter.terms.map((term) => compileParts(attribute, rows, term)).join(` ${filter.kind} `)})`;
    const part = attributeNamed(attribute.subAttributes, filter.path);
    if (part === undefined) throw new FilterSyntaxError(`${attribute.name} has no part ${filter.path}`);
    if (filter.kind === "compare") return comparePart(part, rows, filter);
    return rows === undefined ? `(e.value ->> ${textLiteral(part.name)}) is not null` : "true";
  }

  /** Values that all have to be there for a filter to match: they are found by the index of folded attributes. */
  function required(attribute: Attribute, filter: Filter): Resource {
    if (filter.kind === "and")
      return Object.fromEntries(filter.terms.flatMap((term) => Object.entries(required(attribute, term))));
    if (filter.kind !== "compare" || filter.operator !== "eq") return {};
    const part = attributeNamed(attribute.subAttributes, filter.path);
    const wanted = part && comparison(part, "eq", filter.value);
    return part === undefined || wanted === undefined || wanted.type === "absent" || wanted.type === "time"
      ? {}
      : { [part.name]: wanted.value };
  }

  function compileValues({ path, filter }: Extract<Filter, { kind: "values" }>): string {
    const target = resolve(path);
    const { attribute, sub } = target;
    if (attribute?.multiValued !== true || attribute.type !== "complex" || sub !== undefined)
      throw new FilterSyntaxError(`${path} has not several values with parts`);
    const rows = rowsOf(target);
    if (rows !== undefined)
      return exists(withBaseUrl(rows.from, parameters.baseUrl), `and ${compileParts(attribute, rows, filter)}`);
    const keys = keysOf(target);
    const condition = exists(elements(keys), `where ${compileParts(attribute, undefined, filter)}`);
    const certain = required(attribute, filter);
    return Object.keys(certain).length === 0 ? condition : `(${contains(keys, [certain])} and ${condition})`;
  }

  function contains(keys: readonly string[], value: Json): string {
    return `${folded} @> ${parameters.add(JSON.stringify(nested(keys, value)))}::jsonb`;
  }

  /** A comparison with any value of an attribute that has several. `ne` is also true where there is none. */
  function compareAny(target: Target, filter: Compare): string {
    const attribute = target.attribute as Attribute;
    const rows = rowsOf(target);
    const keys = keysOf({ ...target, sub: undefined });
    const from = rows === undefined ? elements(keys) : withBaseUrl(rows.from, parameters.baseUrl);
    const and = rows === undefined ? "where" : "and";
    if (attribute.type !== "complex") {
      const wanted = comparison(attribute, filter.operator, filter.value);
      if (wanted.type === "absent") return presence(target, filter.operator === "ne");
      if (filter.operator === "eq" && wanted.type === "text") return contains(keys, [wanted.value]);
      const text = { sql: `(e.value #>> '{}') collate "C"`, type: "text" } as const;
      return exists(from, `${and} ${compareColumn(text, filter.operator, wanted, parameters)}`);
    }
    const part = target.sub ?? attributeNamed(attribute.subAttributes, "value");
    if (part === undefined) throw new FilterSyntaxError(`${attribute.name} is compared by one of its parts`);
    const wanted = comparison(part, filter.operator, filter.value);
    const whole = { ...target, sub: part };
    if (wanted.type === "absent") return presence(whole, filter.operator === "ne");
    if (filter.operator === "eq" && rows === undefined && wanted.type !== "time")
      return contains(keys, [{ [part.name]: wanted.value }]);
    const any = exists(from, `${and} ${comparePart(part, rows, filter)}`);
    return filter.operator === "ne" ? `(not ${exists(from, "")} or ${any})` : any;
  }

  /** Whether an attribute has a value. */
  function presence(target: Target, present: boolean): string {
    const not = (condition: string): string => (present ? condition : `not (${condition})`);
    const { attribute, sub } = target;
    if (attribute?.name === "meta" && sub === undefined) return String(present);
    const column = columnOf(target);
    if (column !== undefined) return column.notNull ? String(present) : not(`${column.sql} is not null`);
    const rows = rowsOf(target);
    if (rows !== undefined) return not(exists(withBaseUrl(rows.from, parameters.baseUrl), ""));
    if (attribute?.name === "meta") throw new FilterSyntaxError(`meta.${sub?.name} cannot be compared`);
    if (attribute?.multiValued === true && sub !== undefined) {
      const keys = keysOf({ ...target, sub: undefined });
      return not(exists(elements(keys), `where (e.value ->> ${textLiteral(sub.name)}) is not null`));
    }
    return not(`(${step(folded, keysOf(target), "->")}) is not null`);
  }

  function compare(filter: Compare): string {
    const { path, operator, value } = filter;
    const target = resolve(path);
    const { attribute, sub } = target;
    if (attribute === undefined) throw new FilterSyntaxError(`${path} is compared by one of its attributes`);
    if (attribute.multiValued) return compareAny(target, filter);
    const leaf = sub ?? (attribute.type === "complex" ? attributeNamed(attribute.subAttributes, "value") : attribute);
    if (leaf === undefined) throw new FilterSyntaxError(`${path} is compared by one of its parts`);
    const whole = leaf === attribute ? target : { ...target, sub: leaf };
    const wanted = comparison(leaf, operator, value);
    if (wanted.type === "absent") return presence(whole, operator === "ne");
    const column = columnOf(whole);
    if (column !== undefined) return compareColumn(column, operator, wanted, parameters);
    if (attribute.name === "meta") throw new FilterSyntaxError(`${path} cannot be compared`);
    const keys = keysOf(whole);
    if (wanted.type !== "time" && isEquality(operator)) {
      const equal = contains(keys, wanted.value);
      return operator === "eq" ? equal : `not (${equal})`;
    }
    const text = { sql: `(${step(folded, keys, "->>")}) collate "C"`, type: "text" } as const;
    return compareColumn(text, operator, wanted, parameters);
  }

  /** A filter as a condition. */
  function condition(filter: Filter): string {
    switch (filter.kind) {
      case "and":
      case "or":
        return `(${filter.terms.map(condition).join(` ${filter.kind} `)})`;
      case "not":
        return `not (${condition(filter.term)})`;
      case "present":
        return presence(resolve(filter.path), true);
      case "values":
        return compileValues(filter);
      case "compare":
        return compare(filter);
    }
  }

  /** The expression that a list is sorted by: of several values the primary one, or else the first. */
  function sortColumn(path: string): Column {
    const target = resolve(path);
    const { attribute } = target;
    const part = attribute?.type === "complex" ? attributeNamed(attribute.subAttributes, "value") : undefined;
    const whole: Target = target.sub === undefined && part !== undefined ? { ...target, sub: part } : target;
    const column = columnOf(whole);
    if (column !== undefined) return column;
    if (attribute === undefined || attribute.name === "meta" || attribute.name === "schemas" || rowsOf(target))
      throw new FilterSyntaxError(`${path} is nothing to sort by`);
    if (attribute.type === "complex" && whole.sub === undefined)
      throw new FilterSyntaxError(`${path} is sorted by one of its parts`);
    if (!attribute.multiValued) return { sql: `(${step(folded, keysOf(whole), "->>")}) collate "C"`, type: "text" };
    const list = step(folded, keysOf({ ...target, sub: undefined }), "->");
    const chosen = `(select e.value ->> ${textLiteral(whole.sub?.name ?? "value")}
      from jsonb_array_elements(${list}) with ordinality e (value, n)
      order by coalesce(e.value -> 'primary' = 'true', false) desc, e.n limit 1)`;
    return { sql: `${chosen} collate "C"`, type: "text" };
  }

  return { condition, sortColumn };
}

const isEquality = (operator: Operator): boolean => operator === "eq" || operator === "ne";
