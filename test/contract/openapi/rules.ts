import { ScalarType } from "@bufbuild/protobuf";
import type { DescField } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { Format } from "../../../gen/atrium/options/v1/options_pb.ts";
import type { Rules } from "../../../gen/atrium/options/v1/options_pb.ts";
import { rulesOf } from "../../../src/platform/validation.ts";
import type { Schema } from "./json-schema.ts";

const FORMATS: Partial<Record<Format, Schema>> = {
  [Format.UUID]: { format: "uuid" },
  [Format.EMAIL]: { format: "email" },
  [Format.HTTP_URL]: { format: "uri", pattern: "^[hH][tT][tT][pP][sS]?://", maxLength: 2048 },
  [Format.E164]: { pattern: String.raw`^\+[1-9][0-9]{1,14}$` },
  [Format.IP]: { anyOf: [{ format: "ipv4" }, { format: "ipv6" }] },
  [Format.NAME]: { pattern: String.raw`\S` },
  [Format.TIMESTAMP]: { anyOf: [{ format: "date-time" }, { format: "date" }] },
};

/** The rules of a scalar, or of an item of a list, as JSON Schema. */
export function valueRules(field: DescField): Schema {
  const rules = rulesOf(field);
  if (rules === undefined) return {};
  return {
    ...(minLength(field, rules) > 0 && { minLength: minLength(field, rules) }),
    ...(rules.maxLen > 0 && { maxLength: rules.maxLen }),
    ...(rules.pattern !== "" && { pattern: `^(?:${rules.pattern})$` }),
    ...(minimum(field, rules) !== undefined && { minimum: minimum(field, rules) }),
    ...(rules.max !== undefined && { maximum: rules.max }),
    ...(rules.in.length > 0 && { enum: rules.in }),
    ...FORMATS[rules.format],
  };
}

/** A required number must not be 0 either, which is how one that is left out is read. */
function minimum(field: DescField, { min, required }: Rules): number | undefined {
  const isUnsigned = field.fieldKind === "scalar" && [ScalarType.UINT32, ScalarType.FIXED32].includes(field.scalar);
  if (!required || !isUnsigned || field.presence !== FeatureSet_FieldPresence.IMPLICIT) return min;
  return Math.max(1, min ?? 1);
}

/** A required text must not be empty either. */
function minLength(field: DescField, { minLen, required }: Rules): number {
  const isText = field.fieldKind === "scalar" && [ScalarType.STRING, ScalarType.BYTES].includes(field.scalar);
  return required && isText && field.presence === FeatureSet_FieldPresence.IMPLICIT ? Math.max(1, minLen) : minLen;
}

/** The rules of a list or a map as JSON Schema, without those of its items. */
export function sizeRules(field: DescField): Schema {
  const rules = rulesOf(field);
  if (rules === undefined) return {};
  const least = rules.required ? Math.max(1, rules.minItems) : rules.minItems;
  if (field.fieldKind === "map")
    return { ...(least > 0 && { minProperties: least }), ...(rules.maxItems > 0 && { maxProperties: rules.maxItems }) };
  return {
    ...(least > 0 && { minItems: least }),
    ...(rules.maxItems > 0 && { maxItems: rules.maxItems }),
    ...(rules.unique && { uniqueItems: true }),
  };
}

/** Whether a request must have the field, in every mode of the session. */
export function isRequired(field: DescField): boolean {
  const rules = rulesOf(field);
  return (rules?.required === true && !rules.orCookie) || rules?.present === true;
}
