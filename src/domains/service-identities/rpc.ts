import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { ServiceIdentitiesService } from "../../../gen/atrium/service_identities/v1/service_identities_pb.ts";
import type { RequestContexts } from "../../platform/context.ts";
import { pageOf } from "../../platform/db/paging.ts";
import type { IdentityRow } from "./identity-store.ts";
import { statusOf } from "./rules.ts";
import type { ServiceIdentities } from "./service-identities.ts";
import type { SvidRow } from "./svid-store.ts";
import type { TokenRow } from "./token-store.ts";

function printIdentity({ createdAt, lastAuthAt, description, ...row }: IdentityRow) {
  return {
    ...row,
    ...(description !== null && { description }),
    createdAt: timestampFromDate(createdAt),
    ...(lastAuthAt !== null && { lastAuthAt: timestampFromDate(lastAuthAt) }),
  };
}

/** An SVID as the contract shows it. */
export function printSvid(row: SvidRow, nowMs: number) {
  return {
    svidId: row.svidId,
    spiffeId: row.spiffeId,
    serviceIdentityId: row.identityId,
    serial: row.serial,
    notBefore: timestampFromDate(row.notBefore),
    notAfter: timestampFromDate(row.notAfter),
    status: statusOf({ revokedAt: row.revokedAt, endsAt: row.notAfter }, nowMs),
    ...(row.revokedAt !== null && { revokedAt: timestampFromDate(row.revokedAt) }),
    createdAt: timestampFromDate(row.createdAt),
  };
}

function printToken({ tokenId, name, identityId, ...row }: TokenRow, nowMs: number) {
  return {
    tokenId,
    name,
    identityId,
    status: statusOf({ revokedAt: row.revokedAt, endsAt: row.expiresAt }, nowMs),
    expiresAt: timestampFromDate(row.expiresAt),
    createdAt: timestampFromDate(row.createdAt),
    ...(row.lastUsedAt !== null && { lastUsedAt: timestampFromDate(row.lastUsedAt) }),
  };
}

/** Implements `atrium.service_identities.v1.ServiceIdentitiesService`. */
export function serviceIdentitiesRpc(
  { identities, tokens, clock }: Pick<ServiceIdentities, "identities" | "tokens" | "clock">,
  contexts: RequestContexts,
): ServiceImpl<typeof ServiceIdentitiesService> {
  return {
    async listServiceIdentities(request) {
      const page = pageOf(request);
      const { rows, ...total } = await identities.list(request.orgUuid, page);
      return { data: rows.map(printIdentity), ...total, ...page };
    },
    // The field rules of the contract demand role_id.
    async createServiceIdentity({ orgUuid, name, description, roleId = 0 }, call) {
      const wish = { name, description, roleId };
      return printIdentity(await identities.create(contexts.authenticated(call), orgUuid, wish));
    },
    async getServiceIdentity({ orgUuid, identityId }) {
      const { identity, svids } = await identities.get(orgUuid, identityId);
      const now = clock.now();
      return { ...printIdentity(identity), svids: svids.map((svid) => printSvid(svid, now)) };
    },
    async updateServiceIdentity({ orgUuid, identityId, name, description, roleId }, call) {
      return printIdentity(
        await identities.update(contexts.authenticated(call), orgUuid, identityId, {
          name,
          description,
          roleId,
        }),
      );
    },
    async deleteServiceIdentity({ orgUuid, identityId }, call) {
      await identities.delete(contexts.authenticated(call), orgUuid, identityId);
      return {};
    },
    async createAutomationToken({ orgUuid, identityId, name, expiresIn }, call) {
      const { token, secret } = await tokens.create(contexts.authenticated(call), orgUuid, {
        identityId,
        name,
        expiresIn,
      });
      return { tokenId: token.tokenId, token: secret, name, expiresAt: timestampFromDate(token.expiresAt) };
    },
    async listAutomationTokens(request) {
      const page = pageOf(request);
      const { rows, ...total } = await tokens.list(request.orgUuid, request.identityId, page);
      return { data: rows.map((row) => printToken(row, clock.now())), ...total, ...page };
    },
    async revokeAutomationToken({ orgUuid, tokenId }, call) {
      await tokens.revoke(contexts.authenticated(call), orgUuid, tokenId);
      return {};
    },
  };
}
