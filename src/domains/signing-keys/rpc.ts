import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { SigningKeysService } from "../../../gen/atrium/signing_keys/v1/signing_keys_pb.ts";
import type { RequestContexts } from "../../platform/context.ts";
import type { KeySet } from "./jwks.ts";
import type { KeyRow } from "./manage-store.ts";
import type { Keys } from "./signing-keys.ts";

/** Implements `atrium.signing_keys.v1.SigningKeysService`. */
export function signingKeysRpc(
  { jwks, manage }: Pick<Keys, "jwks" | "manage">,
  contexts: RequestContexts,
): ServiceImpl<typeof SigningKeysService> {
  return {
    createSigningKey: async ({ orgUuid, algorithm, description }, call) =>
      printKey(await manage.create(contexts.authenticated(call), orgUuid, { algorithm, description })),
    listSigningKeys: async ({ orgUuid }) => ({ data: (await manage.list(orgUuid)).map(printKey) }),
    async deleteSigningKey({ orgUuid, keyId }, call) {
      await manage.remove(contexts.authenticated(call), orgUuid, keyId);
      return {};
    },
    async sign({ orgUuid, keyId, payload }, call) {
      const context = contexts.authenticated(call);
      const { token, key } = await manage.sign(context, orgUuid, keyId, payload ?? {});
      return { token, keyId, algorithm: key.algorithm };
    },
    async rotateSigningKey({ orgUuid }, call) {
      const { kid, previousKid, previousExpiresAt } = await manage.rotate(contexts.authenticated(call), orgUuid);
      return { newKeyId: kid, previousKeyId: previousKid, previousKeyExpiresAt: timestampFromDate(previousExpiresAt) };
    },
    getOrganizationJwks: async ({ orgUuid }, call) => respond(await jwks.ofOrganization(orgUuid), call),
  };
}

function printKey(key: KeyRow) {
  return {
    keyId: key.kid,
    algorithm: key.algorithm,
    description: key.description,
    publicKey: key.publicPem,
    active: key.active,
    createdAt: timestampFromDate(key.createdAt),
    ...(key.validUntil === null ? {} : { validUntil: timestampFromDate(key.validUntil) }),
  };
}

function respond({ keys, headers }: KeySet, call: HandlerContext) {
  for (const [name, value] of Object.entries(headers)) call.responseHeader.set(name, value);
  return { keys };
}
