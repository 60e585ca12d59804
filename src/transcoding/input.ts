import { create } from "@bufbuild/protobuf";
import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import { isHttpBody } from "./bindings.ts";
import type { Binding } from "./bindings.ts";
import { FORM, formReader, isForm } from "./form.ts";
import { fieldOnlyReader, readMessage } from "./json/message.ts";
import type { MessageLimits } from "./json/message.ts";
import { Mismatch } from "./json/scalars.ts";
import { queryReader } from "./query.ts";
import { Refusal, invalid } from "./refusal.ts";
import { put, textReader } from "./text.ts";
import type { Limits, TranscoderOptions, Violation } from "./types.ts";

/** Path variables of a request: the text of each, and whether it could be decoded. */
export interface PathText {
  readonly text: string;
  readonly ok: boolean;
}

/** Creates request messages for one binding. */
export interface Input {
  /** How the body is read: as JSON (or a form, where the rule takes forms), as raw bytes, or not at all. */
  readonly body: "json" | "raw" | "none";
  /**
   * Creates the message. `bytes` is undefined for an absent body.
   * @throws {Refusal} when path, query or body are not valid
   */
  make(path: readonly PathText[], query: string | undefined, bytes: Buffer | undefined, contentType: string): Message;
}

/** What reading a request depends on. */
type InputOptions = Pick<TranscoderOptions, "registry" | "present" | "filled">;
type FillBody = (bytes: Buffer | undefined, contentType: string) => Message;

/** Compiles the request mapping of a binding. */
export function inputOf(binding: Binding, limits: Limits, options: InputOptions): Input {
  const { input } = binding.route.method;
  const variables = binding.pathFields.map((fields, i) => {
    const path = binding.template.variables[i]?.path ?? "";
    const read = textReader(fields[fields.length - 1] as DescField);
    if (read === undefined) throw new Error(`${path} has a type that cannot stand in a path`);
    return { fields, path, read };
  });
  const body = bodyKind(binding);
  const fill = bodyFiller(binding, body, limits, options);
  const taken = new Set(variables.map((variable) => variable.path));
  if (binding.bodyField !== undefined) taken.add(binding.bodyField.name);
  const readQuery = binding.route.body === "*" ? undefined : queryReader(input, taken, limits.jsonDepth);

  function readPath(path: readonly PathText[]): unknown[] {
    const values: unknown[] = [];
    let violations: Violation[] | undefined;
    for (let i = 0; i < variables.length; i++) {
      const { path: field, read } = variables[i] as (typeof variables)[number];
      const { text, ok } = path[i] as PathText;
      if (!ok) throw new Refusal("malformed_path", `${field}: the path is not percent-encoded UTF-8 without NUL`);
      const value = read(text);
      if (value instanceof Mismatch) (violations ??= []).push({ field, code: value.code, message: value.message });
      values.push(value);
    }
    if (violations !== undefined) throw invalid("invalid_path", violations);
    return values;
  }

  function make(
    path: readonly PathText[],
    query: string | undefined,
    bytes: Buffer | undefined,
    contentType: string,
  ): Message {
    // The path is checked first: its errors take precedence over those of the body.
    const values = variables.length > 0 ? readPath(path) : undefined;
    const message = body === "none" ? create(input) : fill(bytes, contentType);
    if (values !== undefined)
      values.forEach((value, i) => put(message, (variables[i] as (typeof variables)[number]).fields, value, true));
    if (query !== undefined && readQuery !== undefined) fillQuery(message, query);
    return message;
  }

  function fillQuery(message: Message, query: string): void {
    const violations: Violation[] = [];
    readQuery?.(query, message, violations);
    if (violations.length > 0) throw invalid("invalid_query", violations);
  }

  return { body, make };
}

function bodyKind(binding: Binding): Input["body"] {
  if (binding.route.body === "") return "none";
  const desc: DescMessage | undefined =
    binding.bodyField === undefined
      ? binding.route.method.input
      : binding.bodyField.fieldKind === "message"
        ? binding.bodyField.message
        : undefined;
  return isHttpBody(desc) ? "raw" : "json";
}

function bodyFiller(binding: Binding, kind: Input["body"], limits: Limits, options: InputOptions): FillBody {
  const { bodyField: field, route } = binding;
  const { input } = route.method;
  if (kind === "raw") {
    const desc = field?.message ?? input;
    return (bytes, contentType) => {
      const data =
        bytes === undefined ? new Uint8Array() : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      const raw = create(desc, { contentType, data });
      if (field === undefined) return raw;
      const message = create(input);
      put(message, [field], raw, true);
      return message;
    };
  }
  const optional = route.rule.optionalBody === true;
  const bounds: MessageLimits = {
    depth: limits.jsonDepth,
    violations: limits.violations,
    registry: options.registry,
    present: options.present?.(input) ?? [],
    filled: input.fields.filter((one) => options.filled?.(one) === true),
  };
  const read =
    field === undefined ? (bytes: Buffer) => readMessage(input, bytes, bounds) : fieldOnlyReader(input, field, bounds);
  const consumes = route.rule.consumes ?? [];
  const takesForms = consumes.includes(FORM);
  const readForm = takesForms ? formReader(input, limits) : undefined;
  const needed = takesForms ? (consumes.length > 1 ? "JSON or form" : "form") : "JSON";
  return (bytes, contentType) => {
    if (bytes !== undefined && bytes.length > 0)
      return readForm !== undefined && isForm(contentType) ? readForm(bytes) : read(bytes);
    if (optional) return create(input);
    throw new Refusal("malformed_body", `a ${needed} body is needed`);
  };
}
