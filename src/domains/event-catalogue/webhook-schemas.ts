import { EVENTS } from "./catalogue.ts";
import type { WebhookEventType } from "./catalogue.ts";
import type { DataShape } from "./row.ts";

/** A JSON Schema, draft 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>;

const STRING = { type: "string" };
const UUID = { type: "string", format: "uuid" };
const KINDS: Readonly<Record<string, JsonSchema>> = {
  string: STRING,
  uuid: UUID,
  integer: { type: "integer" },
  boolean: { type: "boolean" },
  timestamp: { type: "string", format: "date-time" },
  "string[]": { type: "array", items: STRING },
  "uuid[]": { type: "array", items: UUID },
};

/** Members of the `data` of a type of event; rows that share the type share its members. */
export function dataShapeOf(type: WebhookEventType): DataShape {
  const rows = Object.values(EVENTS).filter(({ webhook }) => webhook === type);
  return Object.assign({}, ...rows.map(({ data }) => data)) as DataShape;
}

/** JSON Schema of the `data` of a type of event. A later service may add members. */
export function dataSchemaOf(type: WebhookEventType): JsonSchema {
  const members = Object.entries(dataShapeOf(type));
  return {
    type: "object",
    required: members.filter(([, kind]) => !kind.endsWith("?")).map(([name]) => name),
    properties: Object.fromEntries(members.map(([name, kind]) => [name, KINDS[kind.replace(/\?$/u, "")]])),
  };
}

/** JSON Schema of what webhooks receive for a type of event. */
export function eventSchemaOf(type: WebhookEventType): JsonSchema {
  return {
    type: "object",
    required: ["type", "timestamp", "id", "org_uuid", "data"],
    properties: {
      type: { const: type },
      timestamp: KINDS["timestamp"],
      id: { type: "string", pattern: "^evt_" },
      org_uuid: UUID,
      data: dataSchemaOf(type),
    },
  };
}
