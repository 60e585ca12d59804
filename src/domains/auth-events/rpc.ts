import type { JsonObject, MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { AuthEventsService } from "../../../gen/atrium/auth_events/v1/auth_events_pb.ts";
import type {
  AuditEventSchema,
  AuthEventSchema,
  VerifyAuditEventsResponseSchema,
} from "../../../gen/atrium/auth_events/v1/auth_events_pb.ts";
import { caller, requestInfo } from "../../platform/caller.ts";
import { registration } from "../../platform/rpc.ts";
import type { ServiceRegistration } from "../../platform/rpc.ts";
import { mediaTypeKey } from "../../transcoding/index.ts";
import type { AuditRecord } from "../audit-record/index.ts";
import { printHead } from "./export.ts";
import type { Audit, AuditChain, Verification } from "./index.ts";

/** The audit log over the wire. */
export function auditRpc(audit: Audit, chain: AuditChain): ServiceRegistration {
  return registration(AuthEventsService, {
    listAuthEvents: async (request, context) => {
      const { data, ...page } = await audit.authEvents(caller(context), request);
      return { data: data.map(printAuthEvent), ...page };
    },
    listOrganizationAuthEvents: async (request, context) => {
      const { data, ...page } = await audit.authEvents(caller(context), request);
      return { data: data.map(printAuthEvent), ...page };
    },
    getAuthEvent: async ({ eventId }, context) => printAuthEvent(await audit.authEvent(caller(context), eventId)),
    listAuditEvents: async (request, context) => {
      const { data, ...page } = await audit.auditEvents(caller(context), request);
      return { data: data.map(printAuditEvent), ...page };
    },
    async *exportAuditEvents(request, context) {
      const manner = { mediaType: context.values.get(mediaTypeKey), dry: context.requestMethod === "HEAD" };
      const { contentType, fileName, chunks } = await chain.export(
        caller(context),
        requestInfo(context),
        request,
        manner,
      );
      context.responseHeader.set("content-disposition", `attachment; filename="${fileName}"`);
      for await (const data of chunks) yield { contentType, data };
    },
    purgeAuthEvents: async ({ orgUuid }, context) => ({
      purged: await chain.purge(caller(context), requestInfo(context), orgUuid.toLowerCase()),
    }),
    verifyAuditEvents: async ({ orgUuid }) => printVerification(await chain.verify(orgUuid.toLowerCase())),
  });
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
