import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import type { AuditRecordWriter } from "../audit-record/index.ts";
import { createAnnounce } from "./announce.ts";
import { createEvents } from "./events.ts";

/** Every event of the service, recorded in the audit log and stored for webhooks. */
export const eventCatalogueDomain = defineDomain(
  "event-catalogue",
  (ground: Ground & { auditRecord: AuditRecordWriter }) => createEvents(ground.auditRecord, createAnnounce(ground)),
);
