import { dataShapeOf, webhookEventTypes } from "../../src/domains/event-catalogue/index.ts";
import { WEBHOOK_DESCRIPTIONS } from "../../src/domains/event-catalogue/webhook-descriptions.ts";

const NOTICE =
  "// Generated from the catalogue of events by `npm run generate`; do not edit.\n/* eslint-disable */\n\n";

const TYPES: Readonly<Record<string, string>> = {
  string: "string",
  uuid: "string",
  timestamp: "string",
  integer: "number",
  boolean: "boolean",
  "string[]": "string[]",
  "uuid[]": "string[]",
};

/** `gen/webhook-events.ts`: what webhooks receive as `data`, by the type of the event. */
export function webhookEventsFile(): string {
  const lines = [...webhookEventTypes]
    .sort()
    .map((type) => `  ${JSON.stringify(type)}: {${Object.entries(dataShapeOf(type)).map(member).join("")} };\n`);
  const comment = "/** `data` of the events that webhooks receive, by type. */";
  return `${NOTICE}${comment}\nexport interface WebhookEventData {\n${lines.join("")}}\n`;
}

/** `gen/webhook-samples.ts`: when each event of webhooks is sent, and an example of its `data`. */
export function webhookSamplesFile(): string {
  const rows = [...webhookEventTypes]
    .sort()
    .map((type) => `  ${JSON.stringify(type)}: ${JSON.stringify(WEBHOOK_DESCRIPTIONS[type])},\n`);
  const comment = "/** When each event of webhooks is sent, and an example of its `data`, by type. */";
  const type = "Readonly<Record<string, { readonly when: string; readonly sample: object }>>";
  return `${NOTICE}${comment}\nexport const WEBHOOK_SAMPLES: ${type} = {\n${rows.join("")}};\n`;
}

function member([name, kind]: [string, string]): string {
  const optional = kind.endsWith("?");
  return ` ${name}${optional ? "?" : ""}: ${TYPES[optional ? kind.slice(0, -1) : kind] ?? "unknown"};`;
}
