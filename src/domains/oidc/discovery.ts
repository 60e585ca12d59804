import { DISCOVERY_PATH, isIssuerOf } from "./rules.ts";

/** What a discovery document says that sign-ins need (OpenID Connect Discovery 1.0 §3). */
export interface ProviderDocument {
  readonly issuer: string;
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
  readonly jwks_uri: string;
  readonly userinfo_endpoint?: string;
  readonly token_endpoint_auth_methods_supported?: string[];
  readonly id_token_signing_alg_values_supported?: string[];
  readonly userinfo_signing_alg_values_supported?: string[];
  readonly authorization_response_iss_parameter_supported?: boolean;
  readonly code_challenge_methods_supported?: string[];
}

/** The provider could not be reached, or a document of it cannot be used. */
export class ProviderFault extends Error {
  /** What could not be used. */
  readonly part: "discovery" | "issuer" | "endpoints" | "jwks" | "token";

  constructor(part: ProviderFault["part"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ProviderFault";
    this.part = part;
  }
}

/** Signature algorithms of ID tokens and userinfo that are accepted: asymmetric ones. */
export const ALGORITHMS: ReadonlySet<string> = new Set([
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
]);

const MAX_KEYS = 200;

/** A key set as it was fetched. */
export interface KeySet {
  /** For the library, which parses it. */
  text: string;
  kids: ReadonlySet<string>;
  keys: readonly Readonly<Record<string, unknown>>[];
}

/** A JSON object of a provider. @throws ProviderFault */
export function parseObject(text: string, part: ProviderFault["part"]): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ProviderFault(part, "is not JSON", { cause });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new ProviderFault(part, "is not a JSON object");
  return value as Record<string, unknown>;
}

/** The issuer of a discovery document, which must be the one that its URL stands for. @throws ProviderFault */
export function readIssuer(given: Readonly<Record<string, unknown>>, discoveryUrl: string): string {
  const { issuer } = given;
  if (!discoveryUrl.endsWith(DISCOVERY_PATH) || !isIssuerOf(discoveryUrl, issuer))
    throw new ProviderFault("issuer", "names an issuer that is not the discovery URL's");
  return issuer;
}

/** The endpoints and algorithms of a discovery document. @throws ProviderFault */
export function readEndpoints(given: Readonly<Record<string, unknown>>): Omit<ProviderDocument, "issuer"> {
  const endpoint = (name: string): string => {
    const text = given[name];
    const url = typeof text === "string" && /^https?:\/\/[^/]/iu.test(text) ? URL.parse(text) : null;
    if (url === null) throw new ProviderFault("endpoints", `has no usable ${name}`);
    // As the library asks for it, by which requests are told apart: without a default port, the host in small letters.
    return url.href;
  };
  const methods = textsOf(given, "token_endpoint_auth_methods_supported");
  const challenges = textsOf(given, "code_challenge_methods_supported");
  const algorithms = readAlgorithms(given);
  if (algorithms.length === 0) throw new ProviderFault("discovery", "names no signature algorithm that is accepted");
  return {
    authorization_endpoint: endpoint("authorization_endpoint"),
    token_endpoint: endpoint("token_endpoint"),
    jwks_uri: endpoint("jwks_uri"),
    id_token_signing_alg_values_supported: algorithms,
    userinfo_signing_alg_values_supported: accepted(textsOf(given, "userinfo_signing_alg_values_supported")),
    ...(given["userinfo_endpoint"] !== undefined && { userinfo_endpoint: endpoint("userinfo_endpoint") }),
    ...(methods !== undefined && { token_endpoint_auth_methods_supported: methods }),
    ...(challenges !== undefined && { code_challenge_methods_supported: challenges }),
    ...(given["authorization_response_iss_parameter_supported"] === true && {
      authorization_response_iss_parameter_supported: true,
    }),
  };
}

/** Signature algorithms of ID tokens that a discovery document names, of those that are accepted. */
export function readAlgorithms(given: Readonly<Record<string, unknown>>): string[] {
  return accepted(textsOf(given, "id_token_signing_alg_values_supported") ?? ["RS256"]);
}

/** The algorithms of a list that are accepted. */
const accepted = (algorithms: readonly string[] = []): string[] => algorithms.filter((one) => ALGORITHMS.has(one));

/** The strings of a list in a document; undefined when it has no such list. */
function textsOf(given: Readonly<Record<string, unknown>>, name: string): string[] | undefined {
  const list = given[name];
  return Array.isArray(list) ? list.filter((one) => typeof one === "string") : undefined;
}

/** How sign-ins authenticate at the token endpoint; undefined where it takes no secret in a way that they know. */
export function authenticationOf({
  token_endpoint_auth_methods_supported: methods = ["client_secret_basic"],
}: Pick<ProviderDocument, "token_endpoint_auth_methods_supported">) {
  return (["client_secret_basic", "client_secret_post"] as const).find((one) => methods.includes(one));
}

/** Parses a key set (RFC 7517 §5). @throws ProviderFault */
export function readKeySet(text: string): KeySet {
  const { keys } = parseObject(text, "jwks");
  if (!Array.isArray(keys) || keys.some((key) => typeof key !== "object" || key === null))
    throw new ProviderFault("jwks", "is not a JSON Web Key Set");
  if (keys.length > MAX_KEYS) throw new ProviderFault("jwks", `has more than ${MAX_KEYS} keys`);
  const kids = (keys as { kid?: unknown }[]).map(({ kid }) => kid).filter((kid) => typeof kid === "string");
  return { text: JSON.stringify({ keys }), kids: new Set(kids), keys: keys as Record<string, unknown>[] };
}
