export type { Filter, ValuePath } from "./ast.ts";
export { createParameters } from "./columns.ts";
export type { Parameters } from "./columns.ts";
export { createCompiler } from "./compile.ts";
export { described, predicateOf } from "./evaluate.ts";
export { parseFilter, parsePath } from "./parse.ts";
export { GROUP_TABLE, USER_TABLE } from "./table.ts";
export type { Column, Table } from "./table.ts";
export { FilterSyntaxError } from "./tokens.ts";
