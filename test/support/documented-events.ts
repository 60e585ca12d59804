import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import pg from "pg";
import { eventSchemaOf, webhookEventTypes } from "../../src/domains/event-catalogue/index.ts";
import type { JsonSchema } from "../../src/domains/event-catalogue/index.ts";
import { runSql } from "./postgres.ts";

/** The check of docs/events.md for each type; members that the document does not have are faults too. */
let validators: ReadonlyMap<string, ReturnType<Ajv2020["compile"]>> | undefined;

function compile(): ReadonlyMap<string, ReturnType<Ajv2020["compile"]>> {
  const ajv = new Ajv2020({ allErrors: true });
  formats.default(ajv);
  return new Map(webhookEventTypes.map((type) => [type, ajv.compile(closed(eventSchemaOf(type)))]));
}

function closed(schema: JsonSchema): JsonSchema {
  const properties = schema["properties"] as Record<string, JsonSchema>;
  const data = properties["data"];
  return {
    ...schema,
    additionalProperties: false,
    properties: { ...properties, ...(data !== undefined && { data: closed(data) }) },
  };
}

/** What is wrong with the body of an event; undefined when docs/events.md describes it. */
export function eventFault(body: string): string | undefined {
  const event = JSON.parse(body) as { type: string };
  const validate = (validators ??= compile()).get(event.type);
  if (validate === undefined) return `the event ${event.type}`;
  if (validate(event)) return undefined;
  const faults = validate.errors?.map(
    ({ instancePath, message = "", params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
  return `the event ${event.type}: ${faults?.join(", ") ?? ""}`;
}

/** Ids that the service makes; rows that a test writes by hand have others. */
const MADE = "^evt_[0-9a-f]{32}$";

/** Events that a service stored for webhooks and that docs/events.md does not describe. */
export async function undocumentedEvents(databaseUrl: string): Promise<string[]> {
  const sql = "select body from webhook_events where event_id ~ $1 order by created_at desc limit 2000";
  const rows = await runSql<{ body: string }>(databaseUrl, sql, [MADE]).catch((error: unknown) => {
    // A test may leave no table, or no database.
    if (error instanceof pg.DatabaseError && ["42P01", "3D000"].includes(error.code ?? "")) return [];
    throw error;
  });
  return [...new Set(rows.flatMap(({ body }) => eventFault(body) ?? []))];
}
