import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { CredentialsService } from "../../../gen/atrium/credentials/v1/credentials_pb.ts";
import type { RequestContexts } from "../../platform/context.ts";
import type { Clock } from "../../platform/clock.ts";
import { pageOf } from "../../platform/db/paging.ts";
import type { Credentials } from "./index.ts";
import { statusOf } from "./rules.ts";
import type { ApiKeyRow, ScimTokenRow } from "./store.ts";

const usedAt = (row: { last_used_at: Date | null }) =>
  row.last_used_at === null ? {} : { lastUsedAt: timestampFromDate(row.last_used_at) };

function printApiKey(row: ApiKeyRow, clock: Clock) {
  return {
    keyId: row.key_id,
    name: row.name,
    prefix: row.prefix,
    last4: row.last4,
    scopes: row.scopes,
    status: statusOf(row, clock.now()),
    expiresAt: timestampFromDate(row.expires_at),
    createdAt: timestampFromDate(row.created_at),
    ...usedAt(row),
  };
}

function printScimToken(row: ScimTokenRow, clock: Clock) {
  return {
    tokenId: row.token_id,
    name: row.name,
    status: statusOf(row, clock.now()),
    expiresAt: timestampFromDate(row.expires_at),
    createdAt: timestampFromDate(row.created_at),
    ...usedAt(row),
  };
}

/** API keys and SCIM tokens over the wire. */
export function credentialsRpc(
  { manage, clock }: Credentials,
  contexts: RequestContexts,
): Partial<ServiceImpl<typeof CredentialsService>> {
  return {
    async createApiKey({ orgUuid, name, scopes, expiresInDays }, context) {
      const { key, secret } = await manage.createApiKey(contexts.authenticated(context), orgUuid.toLowerCase(), {
        name,
        scopes,
        expiresInDays,
      });
      return {
        keyId: key.key_id,
        apiKey: secret,
        name,
        scopes,
        expiresAt: timestampFromDate(key.expires_at),
        createdAt: timestampFromDate(key.created_at),
      };
    },
    async listApiKeys(request) {
      const { limit, offset } = pageOf(request);
      const { rows, ...total } = await manage.listApiKeys(request.orgUuid.toLowerCase(), limit, offset);
      return { data: rows.map((row) => printApiKey(row, clock)), ...total, limit, offset };
    },
    async revokeApiKey({ orgUuid, keyId }, context) {
      await manage.revokeApiKey(contexts.authenticated(context), orgUuid.toLowerCase(), keyId);
      return {};
    },
    async createScimToken({ orgUuid, name, expiresInDays }, context) {
      const { token, secret } = await manage.createScimToken(
        contexts.authenticated(context),
        orgUuid.toLowerCase(),
        name ?? "",
        expiresInDays,
      );
      return {
        tokenId: token.token_id,
        token: secret,
        name: token.name,
        createdAt: timestampFromDate(token.created_at),
        expiresAt: timestampFromDate(token.expires_at),
      };
    },
    async listScimTokens(request) {
      const { limit, offset } = pageOf(request);
      const { rows, ...total } = await manage.listScimTokens(request.orgUuid.toLowerCase(), limit, offset);
      return { data: rows.map((row) => printScimToken(row, clock)), ...total, limit, offset };
    },
    async revokeScimToken({ orgUuid, tokenId }, context) {
      await manage.revokeScimToken(contexts.authenticated(context), orgUuid.toLowerCase(), tokenId);
      return {};
    },
  };
}
