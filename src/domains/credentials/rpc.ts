import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { CredentialsService } from "../../../gen/atrium/credentials/v1/credentials_pb.ts";
import type { RequestContexts } from "../../platform/context.ts";
import type { Clock } from "../../platform/clock.ts";
import { pageOf } from "../../platform/db/paging.ts";
import type { Webhooks } from "../webhooks/index.ts";
import type { ApiKeyRow } from "./api-key-store.ts";
import type { Credentials } from "./credentials.ts";
import { statusOf } from "./rules.ts";
import type { ScimTokenRow } from "./scim-token-store.ts";

const usedAt = (row: { lastUsedAt: Date | null }) =>
  row.lastUsedAt === null ? {} : { lastUsedAt: timestampFromDate(row.lastUsedAt) };

function printApiKey(row: ApiKeyRow, clock: Clock) {
  return {
    keyId: row.keyId,
    name: row.name,
    prefix: row.prefix,
    last4: row.last4,
    scopes: row.scopes,
    status: statusOf(row, clock.now()),
    expiresAt: timestampFromDate(row.expiresAt),
    createdAt: timestampFromDate(row.createdAt),
    ...usedAt(row),
  };
}

function printScimToken(row: ScimTokenRow, clock: Clock) {
  return {
    tokenId: row.tokenId,
    name: row.name,
    status: statusOf(row, clock.now()),
    expiresAt: timestampFromDate(row.expiresAt),
    createdAt: timestampFromDate(row.createdAt),
    ...usedAt(row),
  };
}

/** Implements the built rpcs of `atrium.credentials.v1.CredentialsService`. */
export function credentialsRpc(
  { manage, clock }: Pick<Credentials, "manage" | "clock">,
  webhooks: { registration: Pick<Webhooks["registration"], "rotateSecret"> },
  contexts: RequestContexts,
): Partial<ServiceImpl<typeof CredentialsService>> {
  return {
    async createApiKey({ orgUuid, name, scopes, expiresInDays }, call) {
      const { key, secret } = await manage.createApiKey(contexts.authenticated(call), orgUuid, {
        name,
        scopes,
        expiresInDays,
      });
      return {
        keyId: key.keyId,
        apiKey: secret,
        name,
        scopes,
        expiresAt: timestampFromDate(key.expiresAt),
        createdAt: timestampFromDate(key.createdAt),
      };
    },
    async listApiKeys(request) {
      const page = pageOf(request);
      const { rows, ...total } = await manage.listApiKeys(request.orgUuid, page);
      return { data: rows.map((row) => printApiKey(row, clock)), ...total, ...page };
    },
    async revokeApiKey({ orgUuid, keyId }, call) {
      await manage.revokeApiKey(contexts.authenticated(call), orgUuid, keyId);
      return {};
    },
    async createScimToken({ orgUuid, name, expiresInDays }, call) {
      const { token, secret } = await manage.createScimToken(
        contexts.authenticated(call),
        orgUuid,
        name ?? "",
        expiresInDays,
      );
      return {
        tokenId: token.tokenId,
        token: secret,
        name: token.name,
        createdAt: timestampFromDate(token.createdAt),
        expiresAt: timestampFromDate(token.expiresAt),
      };
    },
    async listScimTokens(request) {
      const page = pageOf(request);
      const { rows, ...total } = await manage.listScimTokens(request.orgUuid, page);
      return { data: rows.map((row) => printScimToken(row, clock)), ...total, ...page };
    },
    async revokeScimToken({ orgUuid, tokenId }, call) {
      await manage.revokeScimToken(contexts.authenticated(call), orgUuid, tokenId);
      return {};
    },
    async rotateWebhookSecret({ webhookId }, call) {
      const { secret, oldSecretExpiresAt } = await webhooks.registration.rotateSecret(
        contexts.authenticated(call),
        webhookId,
      );
      return { newSecret: secret, oldSecretExpiresAt: timestampFromDate(oldSecretExpiresAt) };
    },
  };
}
