import { create, toJson } from "@bufbuild/protobuf";
import { ListValueSchema, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { SecretValueSchema, VaultService } from "../../../gen/atrium/vault/v1/vault_pb.ts";
import type { SecretValue } from "../../../gen/atrium/vault/v1/vault_pb.ts";
import type { RequestContexts } from "../../platform/context.ts";
import { pageOf } from "../../platform/db/paging.ts";
import { certain } from "../../platform/narrow.ts";
import { registration } from "../../platform/rpc.ts";
import type { ServiceRegistration } from "../../platform/rpc.ts";
import type { Secret } from "./reading.ts";
import { checkValue, conditionOf, etagOf, readEntry, readTags } from "./rules.ts";
import type { SecretRow } from "./secret-store.ts";
import type { Version } from "./secrets.ts";
import type { Vault } from "./vault.ts";

/** `atrium.vault.v1.VaultService`. */
export function vaultRpc({ seal, read, secrets, rotate }: Vault, contexts: RequestContexts): ServiceRegistration {
  return registration(VaultService, {
    putSecret: async ({ orgUuid, name, value, tags, description, expectedVersion }, call) => {
      const { requestHeader: header } = call;
      const condition = conditionOf(header.get("if-match"), expectedVersion, header.get("if-none-match"));
      const wish = {
        value: checkValue(certain(value, "value, which the contract requires")),
        tags: tags && readTags(toJson(ListValueSchema, tags)),
        description,
        condition,
      };
      return printVersion(await secrets.put(contexts.authenticated(call), orgUuid.toLowerCase(), name, wish), call);
    },
    getSecret: async ({ orgUuid, name }, call) =>
      printSecret(await read(contexts.authenticated(call), orgUuid.toLowerCase(), name), call),
    getVersion: async ({ orgUuid, name, version }, call) =>
      printSecret(await read(contexts.authenticated(call), orgUuid.toLowerCase(), name, version), call),
    listVersions: async ({ orgUuid, name }) => {
      const versions = await secrets.versions(orgUuid.toLowerCase(), name);
      return {
        data: versions.map(({ version, createdAt }) => ({ version, createdAt: timestampFromDate(createdAt) })),
      };
    },
    deleteSecret: async ({ orgUuid, name }, call) => {
      const condition = conditionOf(call.requestHeader.get("if-match"));
      await secrets.remove(contexts.authenticated(call), orgUuid.toLowerCase(), name, condition);
      return {};
    },
    listSecrets: async ({ orgUuid, deleted = false, folder, includeFolders = false, ...request }) => {
      const [org, page] = [orgUuid.toLowerCase(), pageOf(request)];
      const [{ rows, ...total }, folders] = await Promise.all([
        secrets.list(org, { deleted, folder }, page),
        includeFolders ? secrets.folders(org) : [],
      ]);
      return { data: rows.map(printItem), folders, ...total, limit: page.limit, offset: page.offset };
    },
    restoreSecret: async ({ orgUuid, name }, call) =>
      printVersion(await secrets.restore(contexts.authenticated(call), orgUuid.toLowerCase(), name), call),
    rotateKmsKey: async ({ orgUuid }, call) => {
      const { keyId, previousKeyId, rotatedAt } = await rotate(contexts.authenticated(call), orgUuid.toLowerCase());
      return {
        keyId,
        ...(previousKeyId !== undefined && { previousKeyId }),
        rotatedAt: timestampFromDate(rotatedAt),
      };
    },
    getSealStatus: () => seal.status(),
    seal: async (_request, call) => {
      await seal.seal(contexts.authenticated(call));
      return {};
    },
    unseal: ({ key, share }, call) => seal.unseal(contexts.authenticated(call), readEntry(key, share)),
  } satisfies ServiceImpl<typeof VaultService>);
}

function printVersion({ name, version, createdAt }: Version, call: HandlerContext) {
  call.responseHeader.set("etag", etagOf(version));
  return { name, version, createdAt: timestampFromDate(createdAt) };
}

/** Messages of secrets that requests of one batch share, frozen so that their JSON is printed once. */
const printed = new WeakMap<Secret, SecretValue>();

function printSecret(secret: Secret, call: HandlerContext): SecretValue {
  call.responseHeader.set("etag", etagOf(secret.version));
  let message = printed.get(secret);
  if (message === undefined) {
    const { createdAt, description, ...same } = secret;
    const times = { createdAt: timestampFromDate(createdAt), ...(description !== null && { description }) };
    printed.set(secret, (message = Object.freeze(create(SecretValueSchema, { ...same, ...times }))));
  }
  return message;
}

function printItem({ name, version, tags, createdAt, deletedAt, restorableUntil }: SecretRow) {
  return {
    name,
    version,
    tags,
    createdAt: timestampFromDate(createdAt),
    ...(deletedAt !== null && { deletedAt: timestampFromDate(deletedAt) }),
    ...(restorableUntil !== null && { restorableUntil: timestampFromDate(restorableUntil) }),
  };
}
