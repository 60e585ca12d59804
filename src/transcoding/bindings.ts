import { getOption, hasOption } from "@bufbuild/protobuf";
import type { DescField, DescMessage, DescMethod } from "@bufbuild/protobuf";
import { http } from "../../gen/google/api/annotations_pb.ts";
import type { HttpRule } from "../../gen/google/api/http_pb.ts";
import { parseTemplate } from "./template.ts";
import type { Template } from "./template.ts";
import type { RestRule, Route } from "./types.ts";

/** A route with its descriptors, checked. */
export interface Binding {
  readonly route: Route;
  readonly template: Template;
  /** The field path of each variable, in the template's order. */
  readonly pathFields: readonly (readonly DescField[])[];
  /** Field of the request the body goes to; undefined for `*` and for none. */
  readonly bodyField: DescField | undefined;
  /** Field of the response that is printed; undefined for all of it. */
  readonly responseField: DescField | undefined;
}

/** True for the message that carries raw bytes. */
export function isHttpBody(desc: DescMessage | undefined): boolean {
  return desc?.typeName === "google.api.HttpBody";
}

/**
 * Reads the bindings of an rpc from `google.api.http`; none for an rpc without.
 * @throws {Error} naming the rpc, for a rule that cannot be served
 */
export function bindingsOf(method: DescMethod, rule: RestRule): Binding[] {
  if (!hasOption(method, http)) return [];
  const name = `${method.parent.typeName}.${method.name}`;
  if (method.methodKind === "client_streaming" || method.methodKind === "bidi_streaming") {
    throw new Error(`${name}: an rpc with a stream of requests cannot be bound to HTTP`);
  }
  const first = getOption(method, http);
  try {
    return [first, ...first.additionalBindings].map((one) => binding(method, rule, one));
  } catch (error) {
    throw new Error(`${name}: ${(error as Error).message}`, { cause: error });
  }
}

function binding(method: DescMethod, rule: RestRule, one: HttpRule): Binding {
  const { pattern } = one;
  if (pattern.case === undefined) throw new Error("the rule has no pattern");
  const httpMethod = pattern.case === "custom" ? pattern.value.kind : pattern.case.toUpperCase();
  const path = pattern.case === "custom" ? pattern.value.path : pattern.value;
  const template = parseTemplate(path);
  if (httpMethod === "GET" && one.body !== "") throw new Error(`${httpMethod} ${path} has a body`);
  const pathFields = template.variables.map((variable) => pathField(method.input, variable.path));
  const bodyField = one.body === "" || one.body === "*" ? undefined : topField(method.input, one.body);
  const responseField = one.responseBody === "" ? undefined : topField(method.output, one.responseBody);
  const route: Route = { method, httpMethod, template: path, body: one.body, responseBody: one.responseBody, rule };
  return { route, template, pathFields, bodyField, responseField };
}

function topField(desc: DescMessage, name: string): DescField {
  const field = desc.fields.find((f) => f.name === name);
  if (field === undefined) throw new Error(`${desc.typeName} has no field ${name}`);
  return field;
}

function pathField(desc: DescMessage, path: string): DescField[] {
  const fields: DescField[] = [];
  let parent: DescMessage | undefined = desc;
  for (const name of path.split(".")) {
    if (parent === undefined) throw new Error(`${path} leads through a field that is no message`);
    const field: DescField = topField(parent, name);
    if (field.fieldKind === "list" || field.fieldKind === "map")
      throw new Error(`${path} is repeated and cannot stand in a path`);
    fields.push(field);
    parent = field.fieldKind === "message" ? field.message : undefined;
  }
  return fields;
}
