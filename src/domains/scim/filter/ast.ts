/** A comparison operator that takes a value (RFC 7644 §3.4.2.2, table 3). */
export type Operator = "eq" | "ne" | "co" | "sw" | "ew" | "gt" | "ge" | "lt" | "le";

/** A value that an attribute is compared with. */
export type CompareValue = string | number | boolean | null;

/** A filter as it was read; names are as given. */
export type Filter =
  | { readonly kind: "and" | "or"; readonly terms: readonly Filter[] }
  | { readonly kind: "not"; readonly term: Filter }
  | { readonly kind: "present"; readonly path: string }
  | { readonly kind: "compare"; readonly path: string; readonly operator: Operator; readonly value: CompareValue }
  | { readonly kind: "values"; readonly path: string; readonly filter: Filter };

/** A path of a PATCH operation: an attribute, or values of one that a filter selects, with a part of them. */
export interface ValuePath {
  readonly path: string;
  readonly filter: Filter | undefined;
  /** Name after the closing bracket. */
  readonly sub: string | undefined;
}
