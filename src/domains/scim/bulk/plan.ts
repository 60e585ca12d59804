import { parseEmail } from "../../../platform/email.ts";
import { scimErrors } from "../errors.ts";
import { BULK_OPERATIONS } from "../discovery/describe.ts";
import { foldText, isObject } from "../resource/values.ts";
import type { Json, Resource } from "../resource/values.ts";
import { resolvedMembers, resolvedText } from "./references.ts";

const PATH = /^\/(Users|Groups)(?:\/([^/]+))?$/u;
/** Part of every body of a PATCH that changes a userName or an address. */
const NAMING = /username|emails/iu;

/**
 * What an operation does: creates a user, changes a user in a way that may take or free a userName or an address,
 * changes nothing but other attributes of a user, or creates or changes a group.
 */
export type StepKind = "create" | "change" | "describe" | "group";

/** One operation of a bulk request (RFC 7644 §3.7). */
export interface Step {
  readonly method: string;
  readonly bulkId: string | undefined;
  /** The bulkId by which others refer to the resource that it creates. */
  readonly defines: string | undefined;
  /** Kind of resource; undefined for a path that is none. */
  readonly of: "Users" | "Groups" | undefined;
  /** Id in the path, or a reference to one. */
  readonly id: string | undefined;
  readonly version: string | null;
  readonly data: Resource | undefined;
  /** The bulkIds it refers to. */
  readonly references: ReadonlySet<string>;
  readonly kind: StepKind;
  /** The id it is about, or the names and addresses that it takes; steps with a key in common run in order. */
  readonly keys: readonly string[];
  /** What is wrong with it. */
  readonly fault: string | undefined;
}

/** A bulk request. */
export interface Plan {
  readonly steps: readonly Step[];
  /** Number of errors after which the rest is not tried; undefined tries all. */
  readonly failOnErrors: number | undefined;
}

/** The bulkIds that the data and the path of an operation refer to. */
function referencesOf(data: Json | undefined, id: string | undefined): Set<string> {
  const found = new Set<string>();
  const collect = (bulkId: string): string => {
    found.add(bulkId);
    return bulkId;
  };
  if (isObject(data)) resolvedMembers(data, collect);
  resolvedText(id ?? "", collect);
  return found;
}

function faultOf(method: string, id: string | undefined, of: string | undefined, bulkId: unknown, data: unknown) {
  if (!["POST", "PUT", "PATCH", "DELETE"].includes(method)) return "method must be POST, PUT, PATCH or DELETE.";
  if (of === undefined) return "path must be /Users or /Groups, followed by an id unless the method is POST.";
  if ((method === "POST") !== (id === undefined)) return `path has ${id === undefined ? "no" : "an"} id.`;
  if (method === "POST" && (typeof bulkId !== "string" || bulkId === "")) return "A POST needs a bulkId.";
  if (method !== "DELETE" && !isObject(data)) return "data must be an object.";
  return undefined;
}

function kindOf(method: string, of: string | undefined, data: Json | undefined): StepKind {
  if (of === "Groups") return "group";
  if (method === "POST") return "create";
  return method === "PATCH" && !NAMING.test(JSON.stringify(data)) ? "describe" : "change";
}

/** Names and addresses that the attributes of a user to create take, as those of others are compared with them. */
function namesIn(data: Resource): string[] {
  const texts = Object.entries(data).flatMap(([name, value]) => {
    const attribute = name.toLowerCase();
    return attribute === "username" ? [value] : attribute === "emails" ? valuesIn(value) : [];
  });
  return texts.flatMap((text) => {
    if (typeof text !== "string") return [];
    const email = parseEmail(text);
    return [`name ${foldText(text)}`, ...(email === undefined ? [] : [`email ${email.key}`])];
  });
}

/** Values of the entries of an attribute that has several. */
function valuesIn(entries: Json): Json[] {
  return (Array.isArray(entries) ? entries : [entries]).flatMap((entry: Json) =>
    isObject(entry)
      ? Object.entries(entry).flatMap(([name, value]) => (name.toLowerCase() === "value" ? [value] : []))
      : [entry],
  );
}

function readStep(given: Json): Step {
  const { method, path, bulkId, version, data }: Resource = isObject(given) ? given : {};
  const verb = typeof method === "string" ? method.toUpperCase() : "";
  const [, of, id] = PATH.exec(typeof path === "string" ? path : "") ?? [];
  const fault = faultOf(verb, id, of, bulkId, data);
  return {
    method: verb,
    bulkId: typeof bulkId === "string" ? bulkId : undefined,
    defines: verb === "POST" && typeof bulkId === "string" ? bulkId : undefined,
    of: of as Step["of"],
    id,
    version: typeof version === "string" ? version : null,
    data: isObject(data) ? data : undefined,
    references: referencesOf(data, id),
    // An operation that is not carried out has no effect on others.
    kind: fault === undefined ? kindOf(verb, of, data) : "describe",
    keys: id === undefined ? (isObject(data) ? namesIn(data) : []) : [`id ${id.toLowerCase()}`],
    fault,
  };
}

/**
 * Reads a bulk request.
 * @throws {invalidSyntax} when it has not the structure of one
 * @throws {tooMany} when it has more than 1,000 operations
 */
export function readPlan(body: Readonly<Record<string, unknown>>): Plan {
  const { Operations: operations, failOnErrors } = body;
  if (!Array.isArray(operations)) throw scimErrors.invalidSyntax("Operations must be a list.");
  if (operations.length > BULK_OPERATIONS) throw scimErrors.tooMany(`At most ${BULK_OPERATIONS} operations are taken.`);
  const most = failOnErrors ?? undefined;
  if (most !== undefined && !(Number.isInteger(most) && (most as number) > 0))
    throw scimErrors.invalidValue("failOnErrors must be an integer above 0.");
  return {
    steps: operations.map((one) => readStep(one as Json)),
    failOnErrors: most as number | undefined,
  };
}
