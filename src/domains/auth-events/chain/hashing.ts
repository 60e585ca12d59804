import { createHash } from "node:crypto";
import { eventText, headText, linkText } from "../../../audit-proof/index.ts";
import type { HeadFacts, LinkFacts, PrintedEvent } from "../../../audit-proof/index.ts";
import type { AuditRecord } from "../../audit-record/index.ts";

/** The event as it is exported, members in the documented order. */
export function printEvent(event: AuditRecord): PrintedEvent {
  const { actor } = event;
  return {
    event_id: event.eventId,
    type: event.type,
    outcome: event.outcome,
    user_uuid: event.userUuid,
    org_uuid: event.orgUuid,
    ip_address: event.ipAddress,
    user_agent: event.userAgent,
    metadata: event.metadata,
    created_at: event.createdAt.toISOString(),
    actor: actor === null ? null : { type: actor.type, id: actor.id ?? null, email: actor.email ?? null },
    resource_type: event.resourceType,
    resource_id: event.resourceId,
  };
}

/** `payload_hash` of an event. */
export const hashEvent = (event: PrintedEvent): string => sha256(eventText(event));

/** `hash` of a link. */
export const hashLink = (link: LinkFacts): string => sha256(linkText(link));

/** The bytes that the signature of a head covers. */
export const headBytes = (head: HeadFacts): Buffer => Buffer.from(headText(head), "utf8");

function sha256(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}
