import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type {
  GetConfigResponseSchema,
  OperatorService,
  OrgConfigSchema,
} from "../../../gen/atrium/operator/v1/operator_pb.ts";
import { caller, requestInfo } from "../../platform/caller.ts";
import type { OperatorConfig, OperatorConfigs } from "./operator-config.ts";
import type { SettingsRow } from "./settings-store.ts";

/** Settings of organizations over the wire. */
export function operatorConfigRpc(configs: OperatorConfigs): Partial<ServiceImpl<typeof OperatorService>> {
  return {
    setConfig: async ({ orgUuid, auditRetentionDays }, context) =>
      print(
        await configs.setRetention(
          caller(context),
          requestInfo(context),
          orgUuid.toLowerCase(),
          auditRetentionDays ?? 0,
        ),
      ),
    getConfig: async ({ orgUuid, limit, offset }) =>
      printAnswer(await configs.read(orgUuid?.toLowerCase(), limit, offset)),
  };
}

function print({
  org_uuid: orgUuid,
  audit_retention_days: auditRetentionDays,
  plan,
  updated_at: at,
}: SettingsRow): Omit<MessageInitShape<typeof OrgConfigSchema>, "$typeName"> {
  return { orgUuid, auditRetentionDays, plan, ...(at === null ? {} : { updatedAt: timestampFromDate(at) }) };
}

function printAnswer(answer: OperatorConfig): MessageInitShape<typeof GetConfigResponseSchema> {
  if ("one" in answer) return print(answer.one);
  const { data, ...page } = answer;
  return { data: data.map(print), ...page };
}
