import { ScalarType } from "@bufbuild/protobuf";
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import type { FieldViolation } from "../platform/errors.ts";
import { rulesOf } from "../platform/validation.ts";

const UNSIGNED: ReadonlySet<ScalarType> = new Set([
  ScalarType.UINT32,
  ScalarType.FIXED32,
  ScalarType.UINT64,
  ScalarType.FIXED64,
]);

/**
 * Returns the violations with the bounds that the contract gives a number, in place of those of its protobuf type,
 * which mean nothing to a caller.
 */
export function withBounds(violations: readonly FieldViolation[], input: DescMessage | undefined): FieldViolation[] {
  return violations.map((violation) => {
    const field = violation.code === "range" ? fieldAt(input, violation.field) : undefined;
    const message = field === undefined ? undefined : boundsOf(field);
    return message === undefined ? violation : { ...violation, message };
  });
}

/** Returns the field at a path such as `checks[2].seats`; undefined where the path leaves the messages. */
function fieldAt(input: DescMessage | undefined, path: string): DescField | undefined {
  let parent = input;
  let field: DescField | undefined;
  for (const step of path.replaceAll(/\[\d+\]/gu, "").split(".")) {
    field = parent?.fields.find(({ name }) => name === step);
    parent = field?.message;
  }
  return field;
}

function boundsOf(field: DescField): string | undefined {
  const { min, max } = rulesOf(field) ?? {};
  const least = min ?? (field.scalar !== undefined && UNSIGNED.has(field.scalar) ? 0 : undefined);
  if (least !== undefined && max !== undefined) return `must be from ${least} to ${max}`;
  if (max !== undefined) return `must be at most ${max}`;
  return least === undefined ? undefined : `must be at least ${least}`;
}
