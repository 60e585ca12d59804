import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { LoginService } from "../../../gen/atrium/login/v1/login_pb.ts";
import { SigningKeysService } from "../../../gen/atrium/signing_keys/v1/signing_keys_pb.ts";
import { caller, requestInfo } from "../../platform/caller.ts";
import { registration } from "../../platform/rpc.ts";
import type { ServiceRegistration } from "../../platform/rpc.ts";
import type { Keys } from "./index.ts";
import type { KeyRow } from "./manage-store.ts";
import type { KeySet } from "./jwks.ts";

/** Signing keys over the wire. */
export function signingKeysRpc({ jwks, manage }: Keys): ServiceRegistration {
  return registration(SigningKeysService, {
    createSigningKey: async ({ orgUuid, algorithm, description }, context) =>
      printKey(
        await manage.create(caller(context), requestInfo(context), orgUuid.toLowerCase(), algorithm, description),
      ),
    listSigningKeys: async ({ orgUuid }) => ({ data: (await manage.list(orgUuid.toLowerCase())).map(printKey) }),
    async deleteSigningKey({ orgUuid, keyId }, context) {
      await manage.remove(caller(context), requestInfo(context), orgUuid.toLowerCase(), keyId);
      return {};
    },
    async sign({ orgUuid, keyId, payload }, context) {
      const { token, key } = await manage.sign(
        caller(context),
        requestInfo(context),
        orgUuid.toLowerCase(),
        keyId,
        payload ?? {},
      );
      return { token, keyId, algorithm: key.algorithm };
    },
    async rotateSigningKey({ orgUuid }, context) {
      const { kid, previousKid, previousExpiresAt } = await manage.rotate(
        caller(context),
        requestInfo(context),
        orgUuid.toLowerCase(),
      );
      return { newKeyId: kid, previousKeyId: previousKid, previousKeyExpiresAt: timestampFromDate(previousExpiresAt) };
    },
    getOrganizationJwks: async ({ orgUuid }, context) => answer(await jwks.ofOrganization(orgUuid), context),
  });
}

/** What of the login area is about keys. */
export function signingKeysLoginRpc({ jwks }: Keys): Partial<ServiceImpl<typeof LoginService>> {
  return {
    getInstanceJwks: async (_request, context) => answer(await jwks.ofInstance(), context),
  };
}

function printKey(key: KeyRow) {
  return {
    keyId: key.kid,
    algorithm: key.algorithm,
    description: key.description,
    publicKey: key.public_pem,
    active: key.active,
    createdAt: timestampFromDate(key.created_at),
    ...(key.valid_until === null ? {} : { validUntil: timestampFromDate(key.valid_until) }),
  };
}

function answer({ keys, headers }: KeySet, context: HandlerContext) {
  for (const [name, value] of Object.entries(headers)) context.responseHeader.set(name, value);
  return { keys };
}
