/** A JSON Schema, or another object of an OpenAPI document. */
export type Schema = Readonly<Record<string, unknown>>;

/** A reference to a component. */
export function refTo(kind: "schemas" | "responses" | "examples", name: string): Schema {
  return { $ref: `#/components/${kind}/${name}` };
}
