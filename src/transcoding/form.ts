import { create } from "@bufbuild/protobuf";
import type { DescMessage, Message } from "@bufbuild/protobuf";
import { parseMediaType } from "./media.ts";
import { queryReader } from "./query.ts";
import { Refusal, invalid } from "./refusal.ts";
import type { Limits, Violation } from "./types.ts";

/** The media type of HTML forms and of OAuth endpoints. */
export const FORM = "application/x-www-form-urlencoded";

/** Whether a body of this Content-Type is a form. */
export function isForm(contentType: string): boolean {
  return contentType === FORM || parseMediaType(contentType)?.essence === FORM;
}

/**
 * Compiles the reading of a form as a message, by the rules of query strings: names are those of fields, a singular one
 * given twice is a violation, unknown ones are ignored. What it returns throws {@link Refusal} of kind `malformed_body`
 * or `invalid_body`.
 */
export function formReader(desc: DescMessage, limits: Limits): (bytes: Buffer) => Message {
  const read = queryReader(desc, new Set(), limits.jsonDepth);
  return (bytes) => {
    const message = create(desc);
    const violations: Violation[] = [];
    read(textOf(bytes), message, violations);
    if (violations.length > 0) throw invalid("invalid_body", violations.slice(0, limits.violations));
    return message;
  };
}

function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Refusal("malformed_body", "the form is not UTF-8");
  }
}
