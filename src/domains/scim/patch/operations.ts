import { scimErrors } from "../errors.ts";
import { FilterSyntaxError, parsePath } from "../filter/index.ts";
import type { ValuePath } from "../filter/index.ts";
import { resolvePath } from "../schema/index.ts";
import type { ResourceKind, Target } from "../schema/index.ts";
import { isObject } from "../resource/values.ts";

const PATCH_OP = "urn:ietf:params:scim:api:messages:2.0:PatchOp";
/** Maximum number of operations of a request. */
const MAX_OPERATIONS = 1_000;

/** What a path names, and the filter that selects among its values. */
export interface PathTarget extends Target {
  readonly filter: ValuePath["filter"];
}

/** One operation of a PATCH (RFC 7644 §3.5.2). */
export interface Operation {
  readonly op: "add" | "replace" | "remove";
  /** Undefined for the resource as a whole. */
  readonly target: PathTarget | undefined;
  readonly value: unknown;
}

/** The target of a path; undefined where no schema has it. */
export function targetOf(kind: ResourceKind, text: string): PathTarget | undefined {
  const { path, filter, sub } = parsePath(text);
  if (sub !== undefined && filter !== undefined && path.split(":").at(-1)?.includes(".") === true) return undefined;
  const target = resolvePath(kind, sub === undefined ? path : `${path}.${sub}`);
  return target && { ...target, filter };
}

function readPath(kind: ResourceKind, text: unknown): PathTarget | undefined {
  if (text === undefined || text === null || text === "") return undefined;
  if (typeof text !== "string") throw scimErrors.invalidPath("A path must be a string.");
  let target: PathTarget | undefined;
  try {
    target = targetOf(kind, text);
  } catch (error) {
    if (!(error instanceof FilterSyntaxError)) throw error;
    throw scimErrors.invalidPath(`The path cannot be read: ${error.message}.`);
  }
  if (target === undefined) throw scimErrors.invalidPath(`${kind.name} has no attribute ${text.slice(0, 200)}.`);
  return target;
}

function readOperation(kind: ResourceKind, given: unknown): Operation {
  if (!isObject(given)) throw scimErrors.invalidSyntax("An operation must be an object.");
  const { op, path, value } = given;
  const name = typeof op === "string" ? op.toLowerCase() : "";
  if (name !== "add" && name !== "replace" && name !== "remove")
    throw scimErrors.invalidSyntax("op must be add, replace or remove.");
  const target = readPath(kind, path);
  if (name !== "remove" && value === undefined) throw scimErrors.invalidValue(`${name} needs a value.`);
  if (name === "remove" && target === undefined) throw scimErrors.noTarget("remove needs a path.");
  return { op: name, target, value };
}

/**
 * The operations of a PATCH body. A body that is a bare object of attributes, as Okta sends it, replaces those
 * (decisions 8.9).
 * @throws {invalidSyntax} when the body has not the structure of a PATCH
 * @throws {invalidPath} when a path cannot be read, or names no attribute
 * @throws {tooMany} when it has more than 1,000 operations
 */
export function readOperations(kind: ResourceKind, body: Readonly<Record<string, unknown>>): Operation[] {
  const { schemas } = body;
  const name = Object.keys(body).find((key) => key.toLowerCase() === "operations");
  if (schemas !== undefined && !(Array.isArray(schemas) && schemas.every((urn) => typeof urn === "string")))
    throw scimErrors.invalidSyntax("schemas must be a list of URNs.");
  const isPatch = Array.isArray(schemas) && schemas.some((urn) => String(urn).toLowerCase() === PATCH_OP.toLowerCase());
  if (name === undefined && !isPatch && Object.keys(body).some((key) => key !== "schemas")) {
    const { schemas: _schemas, ...attributes } = body;
    return [{ op: "replace", target: undefined, value: attributes }];
  }
  const operations = name === undefined ? undefined : body[name];
  if (!Array.isArray(operations) || operations.length === 0)
    throw scimErrors.invalidSyntax("Operations must be a list of at least one operation.");
  if (name !== undefined && schemas !== undefined && !isPatch)
    throw scimErrors.invalidSyntax(`schemas must have ${PATCH_OP}.`);
  if (operations.length > MAX_OPERATIONS) throw scimErrors.tooMany(`At most ${MAX_OPERATIONS} operations are taken.`);
  return operations.map((operation) => readOperation(kind, operation));
}
