import { getOption } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import type { DescMethod } from "@bufbuild/protobuf";
import { Format, rules } from "../../gen/atrium/options/v1/options_pb.ts";
import type { Ids } from "./world.ts";

/** A UUID of no object. */
const NOTHING = "0b1d2a3e-aaaa-4000-8000-00000000000f";

/** Well-formed ids of no object. */
export const unknownIds: Ids = {
  ...Object.fromEntries(
    [
      "org_uuid",
      "user_uuid",
      "session_id",
      "event_id",
      "api_key",
      "token_id",
      "app_id",
      "install_id",
      "webhook_id",
      "delivery_id",
      "device_uuid",
      "invitation_id",
      "account",
      "challenge_id",
      "target_id",
      "mcp_server",
      "identity_id",
      "automation_token",
      "template",
      "meter",
      "svid_id",
      "card_id",
      "quote",
      "subscription",
      "cert_uuid",
      "connection_uuid",
      "provider_connection",
    ].map((kind) => [kind, NOTHING]),
  ),
  signing_key: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  role_id: "999999",
  factor: "999999",
  variable: "999999",
  price_id: "999999",
  slug: "no-such-app",
  secret: "no-such-secret",
  secret_version: "999999",
};

/** Names of the parameters of a path. */
export const parametersOf = (path: string): string[] =>
  [...path.matchAll(/\{([^}=]+)/gu)].map(([, name]) => name as string);

/** Kinds of ids in paths whose name does not say their kind. */
export function kindOf(path: string, parameter: string): string {
  if (parameter === "key_id") return path.includes("/signing-keys/") ? "signing_key" : "api_key";
  if (parameter === "token_id") return path.includes("/automation-tokens/") ? "automation_token" : "token_id";
  if (parameter === "id" && path.startsWith("/api/v1/me/mfa/factors/")) return "factor";
  if (parameter === "id" && path.startsWith("/api/devices/")) return "account";
  if (parameter === "id" && path.startsWith("/api/ops/custom-variables/")) return "variable";
  if (parameter === "id" && path.startsWith("/api/billing/subscriptions/")) return "subscription";
  if (parameter === "id" && path.startsWith("/api/billing/metering/meters/")) return "meter";
  if (parameter === "id" && path.startsWith("/api/templates/")) return "template";
  if (parameter === "id" && path.startsWith("/api/ops/mcp-servers/")) return "mcp_server";
  if (path.includes("/secrets/{name}")) return { name: "secret", version: "secret_version" }[parameter] ?? parameter;
  // The provider of a connection in these tests does not exist: a sign-in through it is 502.
  if (path.startsWith("/api/auth/oidc/{")) return "provider_connection";
  return parameter;
}

/** The path with values for its parameters. */
export const fill = (path: string, value: (parameter: string) => string): string =>
  path.replaceAll(/\{([^}=]+)\}/gu, (_, name: string) => encodeURIComponent(value(name)));

/** Whether a field of a request is a UUID, a number or any text. */
export function syntaxOf(rpc: DescMethod, parameter: string): "uuid" | "number" | "text" {
  const field = rpc.input.fields.find(({ name }) => name === parameter);
  if (field === undefined) throw new Error(`${rpc.name} has no field ${parameter}`);
  if (field.fieldKind === "scalar" && field.scalar !== ScalarType.STRING) return "number";
  return getOption(field, rules).format === Format.UUID ? "uuid" : "text";
}

/** A well-formed value of no object for a parameter. */
export function nothingFor(rpc: DescMethod, path: string, parameter: string): string {
  const known = unknownIds[kindOf(path, parameter)];
  if (known !== undefined) return known;
  return { uuid: NOTHING, number: "999999", text: "none" }[syntaxOf(rpc, parameter)];
}
