import type { JsonObject, MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type {
  AuditEventSchema,
  AuthEventSchema,
  AuthEventsService,
  VerifyAuditEventsResponseSchema,
} from "../../../gen/atrium/auth_events/v1/auth_events_pb.ts";
import type { RequestContexts } from "../../platform/context.ts";
import { printStatistics } from "../../platform/statistics.ts";
import { mediaTypeKey } from "../../transcoding/index.ts";
import type { AuditRecord } from "../audit-record/index.ts";
import type { AuthEvents } from "./auth-events.ts";
import { printHead } from "./export/export.ts";
import type { Verification } from "./chain/verify.ts";

/** Implements `atrium.auth_events.v1.AuthEventsService`. */
export function authEventsRpc(
  log: Pick<AuthEvents, "authEvents" | "auditEvents" | "authEvent" | "stats" | "export" | "purge" | "verify">,
  contexts: RequestContexts,
): ServiceImpl<typeof AuthEventsService> {
  return {
    async listAuthEvents(request, call) {
      const { data, ...page } = await log.authEvents(contexts.authenticated(call), request);
      return { data: data.map(printAuthEvent), ...page };
    },
    async listOrganizationAuthEvents(request, call) {
      const { data, ...page } = await log.authEvents(contexts.authenticated(call), request);
      return { data: data.map(printAuthEvent), ...page };
    },
    getAuthEvent: async ({ eventId }, call) =>
      printAuthEvent(await log.authEvent(contexts.authenticated(call), eventId)),
    async listAuditEvents(request, call) {
      const { data, ...page } = await log.auditEvents(contexts.authenticated(call), request);
      return { data: data.map(printAuditEvent), ...page };
    },
    async getAuditStats(request) {
      const { range, rows } = await log.stats(request.orgUuid.toLowerCase(), request);
      return printStatistics(range, rows, { success: 0, failure: 0 });
    },
    async *exportAuditEvents(request, call) {
      const { contentType, fileName, chunks } = await log.export(contexts.authenticated(call), request, {
        mediaType: call.values.get(mediaTypeKey),
        headOnly: call.requestMethod === "HEAD",
      });
      call.responseHeader.set("content-disposition", `attachment; filename="${fileName}"`);
      for await (const data of chunks) yield { contentType, data };
    },
    purgeAuthEvents: async ({ orgUuid }, call) => ({
      purged: await log.purge(contexts.authenticated(call), orgUuid.toLowerCase()),
    }),
    verifyAuditEvents: async ({ orgUuid }) => printVerification(await log.verify(orgUuid.toLowerCase())),
  };
}

function printVerification({
  valid,
  events,
  purged,
  head,
  firstBrokenEventId,
}: Verification): MessageInitShape<typeof VerifyAuditEventsResponseSchema> {
  const shown = printHead(head ?? undefined);
  return {
    valid,
    events,
    purged,
    ...(shown === null ? {} : { head: { ...shown, at: timestampFromDate(new Date(shown.at)) } }),
    ...(firstBrokenEventId === null ? {} : { firstBrokenEventId }),
  };
}

function printAuthEvent(event: AuditRecord): MessageInitShape<typeof AuthEventSchema> {
  return {
    eventId: event.eventId,
    type: event.type,
    outcome: event.outcome,
    ...(event.userUuid === null ? {} : { userUuid: event.userUuid }),
    ...(event.orgUuid === null ? {} : { orgUuid: event.orgUuid }),
    ipAddress: event.ipAddress,
    userAgent: event.userAgent,
    metadata: event.metadata as JsonObject,
    createdAt: timestampFromDate(event.createdAt),
  };
}

function printAuditEvent(event: AuditRecord): MessageInitShape<typeof AuditEventSchema> {
  const { actor } = event;
  const { $typeName: _, ...shared } = printAuthEvent(event);
  return {
    ...shared,
    ...(actor === null
      ? {}
      : {
          actor: {
            type: actor.type,
            ...(actor.id === null ? {} : { id: actor.id }),
            ...(actor.email === null ? {} : { email: actor.email }),
          },
        }),
    ...(event.resourceType === null ? {} : { resourceType: event.resourceType }),
    ...(event.resourceId === null ? {} : { resourceId: event.resourceId }),
  };
}
