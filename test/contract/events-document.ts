import {
  dataSchemaOf,
  dataShapeOf,
  eventSchemaOf,
  EVENTS,
  WEBHOOK_DESCRIPTIONS,
  webhookEventTypes,
} from "../../src/domains/event-catalogue/index.ts";
import type { WebhookEventType } from "../../src/domains/event-catalogue/index.ts";

const json = (value: unknown): string => `\`\`\`json\n${printed(value, "")}\n\`\`\``;

/** JSON that stands on one line where it fits. */
function printed(value: unknown, indent: string): string {
  const short = JSON.stringify(value, undefined, 1).replaceAll(/\n\s*/gu, " ");
  if (typeof value !== "object" || value === null || Array.isArray(value) || short.length < 100) return short;
  const inner = `${indent}  `;
  const members = Object.entries(value).map(([name, member]) => `${inner}"${name}": ${printed(member, inner)}`);
  return `{\n${members.join(",\n")}\n${indent}}`;
}

/** Types in the audit log of what webhooks receive as `type`. */
function auditTypesOf(type: WebhookEventType): string[] {
  return [...new Set(Object.values(EVENTS).flatMap(({ webhook, audit }) => (webhook === type ? (audit ?? []) : [])))];
}

function membersOf(type: WebhookEventType): string {
  const rows = Object.entries(dataShapeOf(type)).map(([name, kind]) => {
    const optional = kind.endsWith("?");
    return `| \`${name}\` | ${optional ? kind.slice(0, -1) : kind} | ${optional ? "no" : "yes"} |`;
  });
  return ["| member | kind | always |", "| --- | --- | --- |", ...rows].join("\n");
}

function section(type: WebhookEventType): string {
  const { when, sample } = WEBHOOK_DESCRIPTIONS[type];
  const audit = auditTypesOf(type);
  const logged = audit.length === 0 ? "" : `\nIn the audit log: ${audit.map((name) => `\`${name}\``).join(", ")}.`;
  return `### ${type}

${when}${logged}

${membersOf(type)}

A sample:

${json(sample)}

JSON Schema of \`data\`:

${json(dataSchemaOf(type))}
`;
}

/** `docs/events.md`: when each event of webhooks is sent, what it carries, its JSON Schema and a sample. */
export function eventsDocument(): string {
  const types = [...webhookEventTypes].sort();
  const schema = eventSchemaOf("api_key.revoked");
  return `# Events

<!-- Generated from src/domains/event-catalogue by \`npm run generate\`; do not edit. -->

What webhooks receive, by the \`type\` of the event. [Receive webhooks](receive-webhooks.md) shows how to verify a
delivery; \`verifyWebhook\` of \`@atrium/client/webhooks\` returns these events typed. The schemas are JSON Schema,
draft 2020-12. A later version may add types and members, so accept what you do not know. A body has at most 20,000
bytes: the longest texts of \`data\` are cut until it fits.

## The envelope

Every event has the same five members. \`id\` is also the header \`webhook-id\` and stays the same in every attempt.
\`org_uuid\` is the organization in which it happened; of an install, the buyer's.

${json(schema)}

## Types

${types.map(section).join("\n")}`;
}
