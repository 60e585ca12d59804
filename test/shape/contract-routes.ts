import { readFileSync } from "node:fs";
import type { DescMethod } from "@bufbuild/protobuf";
import { getOption } from "@bufbuild/protobuf";
import { Credential, Power, access, rest } from "../../gen/atrium/options/v1/options_pb.ts";
import type { Access } from "../../gen/atrium/options/v1/options_pb.ts";
import { http } from "../../gen/google/api/annotations_pb.ts";
import type { HttpRule } from "../../gen/google/api/http_pb.ts";
import { services } from "../../gen/services.ts";

/** One line of the route table. */
export interface Route {
  method: string;
  path: string;
  /** Who may call, in the table's words: `admin+elevated`. */
  auth: string;
  /** Status of success. */
  status: number;
}

/** One binding of an rpc, in the same terms. */
export interface Binding extends Route {
  rpc: DescMethod;
}

/** The route table of the specification. */
export function routeTable(): Route[] {
  const [, ...lines] = readFileSync(new URL("routes.tsv", import.meta.url), "utf8")
    .trim()
    .split("\n");
  return lines.map((line) => {
    const [, method = "", path = "", auth = "", status = ""] = line.split("\t");
    return { method, path, auth, status: Number(status) };
  });
}

/** Every rpc of the contract. */
export const rpcs: readonly DescMethod[] = services.flatMap((service) => service.methods);

/** Every binding of every rpc. */
export function bindings(): Binding[] {
  return rpcs.flatMap((rpc) => {
    const rule = getOption(rpc, http);
    return [rule, ...rule.additionalBindings].flatMap((one) => {
      const [method, path] = verb(one);
      return { rpc, method, path, auth: authOf(getOption(rpc, access)), status: getOption(rpc, rest).status || 200 };
    });
  });
}

function verb({ pattern }: HttpRule): [method: string, path: string] {
  if (pattern.case === "custom") return [pattern.value.kind, pattern.value.path];
  return pattern.case === undefined ? ["", ""] : [pattern.case.toUpperCase(), pattern.value];
}

const credentials: Partial<Record<Credential, string>> = {
  [Credential.PUBLIC]: "public",
  [Credential.BEARER]: "bearer",
  [Credential.SCIM]: "scim",
  [Credential.MFA_TOKEN]: "mfa_token",
  [Credential.PUBLISHER_SIGNATURE]: "publisher-signature",
  [Credential.PROVIDER_SIGNATURE]: "provider-signature",
};

const powers: Partial<Record<Power, string>> = {
  [Power.ADMIN]: "admin",
  [Power.OWNER]: "owner",
  [Power.APP_ADMIN]: "app-admin",
  [Power.PLATFORM_ADMIN]: "platform-admin",
  [Power.SUPERUSER]: "superuser",
  [Power.OPERATOR]: "operator",
  [Power.VAULT_WRITE]: "vault:write",
  // The table says bearer: which role suffices is the decisions' (9.1).
  [Power.EMPLOYEE]: "bearer",
};

/** What an rpc declares, in the table's words. A power implies a bearer. */
function authOf(declared: Access): string {
  const credential = credentials[declared.credential] ?? "undeclared";
  const words = declared.powers.map((power) => powers[power] ?? "undeclared");
  if (declared.elevated) words.push("elevated");
  if (words.length === 0) return credential;
  return credential === "bearer" ? words.join("+") : `${credential}+${words.join("+")}`;
}
