import { readFileSync } from "node:fs";
import type { DescMessage, DescService } from "@bufbuild/protobuf";
import { compilePolicies } from "../../../src/server/policy.ts";
import type { Policy } from "../../../src/server/policy.ts";
import { commentOf } from "./comments.ts";
import { ERROR_SCHEMA, errorExamples, ErrorResponses, SCIM_ERROR_SCHEMA } from "./error-responses.ts";
import type { Schema } from "./json-schema.ts";
import { operationsOf, tagOf } from "./operations.ts";
import { Schemas } from "./schemas.ts";

/** The OpenAPI 3.1 document of these services. */
export function documentOf(services: readonly DescService[]): Schema {
  const policies = [...compilePolicies(services).values()];
  const { names, bothWays } = messagesOf(policies);
  const components = { schemas: new Schemas(names, bothWays), errors: new ErrorResponses() };
  const paths: Record<string, Record<string, Schema>> = {};
  for (const { path, method, operation } of policies.flatMap((policy) => operationsOf(policy, components)))
    paths[path] = { ...paths[path], [method]: operation };
  return {
    openapi: "3.1.0",
    info: {
      title: "Atrium",
      version: versionOf(),
      description:
        "Identity, access, marketplace and billing for multi-tenant SaaS. The same rpcs are served over gRPC, " +
        "gRPC-Web and Connect at `/{x-atrium-rpc}`. Errors are described in docs/errors.md. Every operation takes " +
        "the headers `X-Request-Id` (returned, and named by errors) and `Connect-Timeout-Ms` (milliseconds after " +
        "which an unfinished call ends with 504).",
      license: { name: "UNLICENSED", identifier: "LicenseRef-UNLICENSED" },
    },
    servers: [{ url: "/" }],
    tags: tagsOf(policies),
    paths: Object.fromEntries(Object.entries(paths).sort(([a], [b]) => (a < b ? -1 : 1))),
    components: {
      schemas: { Error: ERROR_SCHEMA, ScimError: SCIM_ERROR_SCHEMA, ...components.schemas.components() },
      responses: components.errors.components(),
      examples: errorExamples(),
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

function versionOf(): string {
  const text = readFileSync(new URL("../../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

const SECURITY_SCHEMES: Schema = {
  bearer: { type: "http", scheme: "bearer", description: "An access token, an API key or an automation token." },
  scimToken: { type: "http", scheme: "bearer", description: "A SCIM token of the organization in the path." },
  mutualTls: { type: "mutualTLS", description: "An X.509-SVID, on the listener of mutual TLS." },
  publisherSignature: {
    type: "apiKey",
    in: "header",
    name: "webhook-signature",
    description: "Standard Webhooks signature of the raw body by the app's provision secret, or Service-Signature.",
  },
  providerSignature: {
    type: "apiKey",
    in: "header",
    name: "stripe-signature",
    description: "Signature of the payment provider: stripe-signature or paddle-signature.",
  },
};

function tagsOf(policies: readonly Policy[]): Schema[] {
  const services = new Map<string, string[]>();
  for (const policy of policies) {
    const known = services.get(tagOf(policy)) ?? [];
    const comment = commentOf(policy.method.parent);
    if (!known.includes(comment)) services.set(tagOf(policy), [...known, comment]);
  }
  return [...services].map(([name, comments]) => ({ name, description: comments.join("\n\n") }));
}

/** Names for every message: its own where it is unique, with its area where it is not. */
function messagesOf(policies: readonly Policy[]): {
  names: ReadonlyMap<DescMessage, string>;
  bothWays: ReadonlySet<DescMessage>;
} {
  const inputs = reachable(policies.map(({ method }) => method.input));
  const outputs = reachable(policies.map(({ method }) => method.output));
  const byName = new Map<string, DescMessage[]>();
  for (const desc of new Set([...inputs, ...outputs]))
    byName.set(nested(desc), [...(byName.get(nested(desc)) ?? []), desc]);
  const names = [...byName].flatMap(([name, descs]) =>
    descs.map((desc) => [desc, descs.length === 1 && !TAKEN.has(name) ? name : areaOf(desc) + name] as const),
  );
  return { names: new Map(names), bothWays: new Set([...inputs].filter((desc) => outputs.has(desc))) };
}

const TAKEN: ReadonlySet<string> = new Set(["Error", "ScimError"]);

/** `Outer.Inner` is `OuterInner`. */
const nested = (desc: DescMessage): string => (desc.parent === undefined ? "" : nested(desc.parent)) + desc.name;

/** `atrium.mtls_ca.v1` is `MtlsCa`. */
function areaOf(desc: DescMessage): string {
  const area = desc.file.proto.package.split(".")[1] ?? "";
  return area
    .split("_")
    .map((part) => part.slice(0, 1).toUpperCase() + part.slice(1))
    .join("");
}

function reachable(roots: readonly DescMessage[]): Set<DescMessage> {
  const found = new Set<DescMessage>();
  const visit = (desc: DescMessage): void => {
    if (found.has(desc) || desc.typeName.startsWith("google.")) return;
    found.add(desc);
    for (const { message } of desc.fields) if (message !== undefined) visit(message);
  };
  roots.forEach(visit);
  return found;
}
