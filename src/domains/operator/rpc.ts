import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { OperatorService, OrgConfigSchema } from "../../../gen/atrium/operator/v1/operator_pb.ts";
import type { RequestContexts } from "../../platform/context.ts";
import { pageOf } from "../../platform/db/paging.ts";
import { errors } from "../../platform/errors.ts";
import type { Operator } from "./operator.ts";
import type { OrganizationOverviewRow } from "./organization-store.ts";
import { describeFaults, isReady } from "./readiness.ts";
import type { ProcessState } from "./readiness.ts";
import type { SettingsRow } from "./settings-store.ts";

/** Implements `atrium.operator.v1.OperatorService`. */
export function operatorRpc(
  { settings, organizations }: Operator,
  { readiness, metrics }: ProcessState,
  contexts: RequestContexts,
): ServiceImpl<typeof OperatorService> {
  return {
    setConfig: async ({ orgUuid, auditRetentionDays }, call) => {
      const context = contexts.authenticated(call);
      return printSettings(await settings.setRetention(context, orgUuid.toLowerCase(), auditRetentionDays ?? 0));
    },
    getConfig: async ({ orgUuid, ...window }) => {
      if (orgUuid) return printSettings(await settings.find(orgUuid.toLowerCase()));
      const page = pageOf(window);
      const { rows, ...total } = await settings.list(page);
      return { data: rows.map(printSettings), ...total, ...page };
    },
    listAllOrganizations: async (request) => {
      const page = pageOf(request);
      const { rows, ...total } = await organizations.list(page);
      return { data: rows.map(printOrganization), ...total, ...page };
    },
    getHealth: () => ({ status: "ok" }),
    getReadiness: async () => {
      const report = await readiness();
      if (!isReady(report))
        throw errors.unavailable({ message: `Not ready: ${describeFaults(report)}.`, document: report, retryAfter: 1 });
      return { contentType: "application/json", data: Buffer.from(JSON.stringify(report)) };
    },
    getMetrics: async () => {
      if (metrics === undefined) throw errors.noRoute();
      return { contentType: "text/plain; version=0.0.4; charset=utf-8", data: Buffer.from(await metrics.text()) };
    },
  };
}

function printOrganization({ createdAt, ...row }: OrganizationOverviewRow) {
  return { ...row, createdAt: timestampFromDate(createdAt) };
}

function printSettings(row: SettingsRow): Omit<MessageInitShape<typeof OrgConfigSchema>, "$typeName"> {
  return {
    orgUuid: row.orgUuid,
    auditRetentionDays: row.auditRetentionDays,
    plan: row.plan,
    ...(row.updatedAt === null ? {} : { updatedAt: timestampFromDate(row.updatedAt) }),
  };
}
