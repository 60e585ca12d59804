import { getOption } from "@bufbuild/protobuf";
import type { DescMessage, DescMethod } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { access, Credential } from "../../../gen/atrium/options/v1/options_pb.ts";

/** What the contract says of an rpc, as far as a client must know it. */
export interface MethodPolicy {
  /** The credential is sent. */
  authenticated: boolean;
  /** Without a credential it is refused. */
  credentialRequired: boolean;
  /** It changes nothing, so that it may be sent again. */
  safe: boolean;
  /** It takes an `Idempotency-Key`: sent again with the same key, it takes effect once. */
  idempotent: boolean;
  /** It demands an elevated token. */
  elevated: boolean;
  /** It opens, renews, moves or ends a session: the cookie mode concerns it. */
  session: boolean;
}

const policies = new WeakMap<DescMethod, MethodPolicy>();

const opensSession = (message: DescMessage): boolean =>
  message.fields.some(
    (field) =>
      field.name === "access_token" ||
      (field.fieldKind === "message" && field.message.typeName.startsWith("atrium.") && opensSession(field.message)),
  );

function read(method: DescMethod): MethodPolicy {
  const { credential, bearerOptional, idempotent, elevated } = getOption(method, access);
  const credentialRequired = credential === Credential.BEARER || credential === Credential.SCIM;
  return {
    authenticated: credentialRequired || bearerOptional,
    credentialRequired,
    safe: method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS,
    idempotent,
    elevated,
    session: method.name === "Logout" || opensSession(method.output),
  };
}

/** Reads the options of an rpc, once. */
export function policyOf(method: DescMethod): MethodPolicy {
  let policy = policies.get(method);
  if (policy === undefined) policies.set(method, (policy = read(method)));
  return policy;
}
