import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { LoginService } from "../../../gen/atrium/login/v1/login_pb.ts";
import { SigningKeysService } from "../../../gen/atrium/signing_keys/v1/signing_keys_pb.ts";
import { registration } from "../../platform/rpc.ts";
import type { ServiceRegistration } from "../../platform/rpc.ts";
import type { Keys } from "./index.ts";
import type { KeySet } from "./jwks.ts";

/** Signing keys over the wire. */
export function signingKeysRpc({ jwks }: Keys): ServiceRegistration {
  return registration(SigningKeysService, {
    getOrganizationJwks: async ({ orgUuid }, context) => answer(await jwks.ofOrganization(orgUuid), context),
  });
}

/** What of the login area is about keys. */
export function keysLoginRpc({ jwks }: Keys): Partial<ServiceImpl<typeof LoginService>> {
  return {
    getInstanceJwks: async (_request, context) => answer(await jwks.ofInstance(), context),
  };
}

function answer({ keys, headers }: KeySet, context: HandlerContext) {
  for (const [name, value] of Object.entries(headers)) context.responseHeader.set(name, value);
  return { keys };
}
