import type { DescField } from "@bufbuild/protobuf";

/** The name protobuf gives a field in JSON unless `json_name` says otherwise. */
function defaultJsonName(name: string): string {
  return name.replace(/_+(.?)/g, (_, next: string) => next.toUpperCase());
}

/** The name a field is printed with: `json_name` where the field sets its own, else the proto name. */
export function printedName(field: DescField): string {
  return field.jsonName === defaultJsonName(field.name) ? field.name : field.jsonName;
}

/** Names a field is taken under. */
export function acceptedNames(field: DescField): string[] {
  return field.name === field.jsonName ? [field.name] : [field.name, field.jsonName];
}
