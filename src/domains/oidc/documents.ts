import type { Clock } from "../../platform/clock.ts";
import { createLru } from "../../platform/lru.ts";
import { OutgoingError } from "../../platform/outgoing/client.ts";
import type { GuardedClient, OutgoingResponse } from "../../platform/outgoing/client.ts";
import { DISCOVERY_PATH, issuerOf } from "./rules.ts";

/** What a discovery document says that sign-ins need (OpenID Connect Discovery 1.0 §3). */
export interface ProviderDocument {
  readonly issuer: string;
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
  readonly jwks_uri: string;
  readonly userinfo_endpoint?: string;
  readonly token_endpoint_auth_methods_supported?: string[];
  readonly id_token_signing_alg_values_supported?: string[];
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

/** Signature algorithms of ID tokens that are accepted: asymmetric ones. */
const ALGORITHMS: ReadonlySet<string> = new Set([
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

const MAX_BYTES = 512 * 1024;
const MAX_KEYS = 200;
const TIMEOUT_MS = 10_000;
const DEFAULT_AGE_MS = 5 * 60_000;
const LONGEST_AGE_MS = 60 * 60_000;
/** Documents are fetched at most this often for a connection, whatever their headers say. */
const SHORTEST_AGE_MS = 10_000;
const CACHED = 2_000;

interface Cached<T> {
  value: Promise<T>;
  fetchedAt: number;
  until: number;
}

/** A key set as it was fetched. */
interface KeySet {
  /** For the library, which parses it. */
  text: string;
  kids: ReadonlySet<string>;
}

/** Discovery documents and key sets of providers, cached by their headers: 10 seconds to an hour. */
export function createDocuments({
  outgoing,
  clock,
}: {
  outgoing: Pick<GuardedClient, "request" | "vetUrl">;
  clock: Clock;
}) {
  const discoveries = createLru<Cached<ProviderDocument>>(CACHED);
  const keySets = createLru<Cached<KeySet>>(CACHED);

  async function get(url: string, part: ProviderFault["part"]): Promise<OutgoingResponse> {
    try {
      const answer = await outgoing.request({
        method: "GET",
        url,
        headers: { accept: "application/json" },
        timeoutMs: TIMEOUT_MS,
        maxBytes: MAX_BYTES,
      });
      if (answer.status !== 200) throw new ProviderFault(part, `answered ${answer.status}`);
      if (answer.truncated) throw new ProviderFault(part, `is larger than ${MAX_BYTES} bytes`);
      return answer;
    } catch (cause) {
      if (cause instanceof OutgoingError) throw new ProviderFault(part, cause.message, { cause });
      throw cause;
    }
  }

  /** What is cached, or is being fetched; a failure is not kept. */
  async function cached<T>(
    cache: ReturnType<typeof createLru<Cached<T>>>,
    key: string,
    fresh: (entry: Cached<T>) => boolean,
    fetch: () => Promise<{ value: T; headers: OutgoingResponse["headers"] }>,
  ): Promise<T> {
    const before = cache.get(key);
    if (before !== undefined && fresh(before)) return before.value;
    const fetchedAt = clock.now();
    const fetched = fetch();
    const entry: Cached<T> = {
      value: fetched.then(({ value }) => value),
      fetchedAt,
      until: fetchedAt + SHORTEST_AGE_MS,
    };
    // Whoever shares this fetch handles its failure; with nobody left, it is no unhandled rejection.
    entry.value.catch(() => undefined);
    cache.set(key, entry);
    try {
      entry.until = fetchedAt + ageOf((await fetched).headers["cache-control"]);
      return await entry.value;
    } catch (error) {
      if (cache.get(key) === entry) cache.delete(key);
      throw error;
    }
  }

  return {
    /** The discovery document of a connection. @throws ProviderFault */
    discovery: (connection: { uuid: string; discoveryUrl: string }): Promise<ProviderDocument> =>
      cached(
        discoveries,
        connection.uuid,
        ({ until }) => clock.now() < until,
        async () => {
          const { body, headers } = await get(connection.discoveryUrl, "discovery");
          const value = readDiscovery(body.toString("utf8"), connection.discoveryUrl);
          for (const url of [value.token_endpoint, value.jwks_uri, value.userinfo_endpoint])
            if (url !== undefined && outgoing.vetUrl(url) !== undefined)
              throw new ProviderFault("endpoints", "names an endpoint that must not be called");
          return { value, headers };
        },
      ),

    /** The key set of a connection, fetched again once when it has no key `kid`. @throws ProviderFault */
    async keys(connection: { uuid: string }, jwksUri: string, kid: string | undefined): Promise<string> {
      const fetch = async () => {
        const { body, headers } = await get(jwksUri, "jwks");
        return { value: readKeySet(body.toString("utf8")), headers };
      };
      const key = `${connection.uuid} ${jwksUri}`;
      const now = clock.now();
      const found = await cached(keySets, key, ({ until }) => now < until, fetch);
      if (kid === undefined || found.kids.has(kid)) return found.text;
      return (await cached(keySets, key, ({ fetchedAt }) => now < fetchedAt + SHORTEST_AGE_MS, fetch)).text;
    },
  };
}

/** Documents of providers. */
export type Documents = ReturnType<typeof createDocuments>;

function ageOf(cacheControl: string | undefined): number {
  if (cacheControl === undefined) return DEFAULT_AGE_MS;
  if (/\bno-(?:store|cache)\b/iu.test(cacheControl)) return SHORTEST_AGE_MS;
  const age = /\bmax-age\s*=\s*"?(\d{1,9})/iu.exec(cacheControl)?.[1];
  const ageMs = age === undefined ? DEFAULT_AGE_MS : Number(age) * 1000;
  return Math.min(LONGEST_AGE_MS, Math.max(SHORTEST_AGE_MS, ageMs));
}

function parseObject(text: string, part: ProviderFault["part"]): Record<string, unknown> {
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

function readDiscovery(text: string, discoveryUrl: string): ProviderDocument {
  const given = parseObject(text, "discovery");
  if (!discoveryUrl.endsWith(DISCOVERY_PATH) || given["issuer"] !== issuerOf(discoveryUrl))
    throw new ProviderFault("issuer", "names an issuer that is not the discovery URL's");
  const endpoint = (name: string): string => {
    const url = given[name];
    if (typeof url !== "string" || !/^https?:\/\/[^/]/iu.test(url) || URL.parse(url) === null)
      throw new ProviderFault("endpoints", `has no usable ${name}`);
    return url;
  };
  const texts = (name: string): string[] | undefined => {
    const list = given[name];
    return Array.isArray(list) ? list.filter((one) => typeof one === "string") : undefined;
  };
  const methods = texts("token_endpoint_auth_methods_supported");
  const challenges = texts("code_challenge_methods_supported");
  const algorithms = (texts("id_token_signing_alg_values_supported") ?? ["RS256"]).filter((one) => ALGORITHMS.has(one));
  if (algorithms.length === 0) throw new ProviderFault("discovery", "names no signature algorithm that is accepted");
  return {
    issuer: given["issuer"],
    authorization_endpoint: endpoint("authorization_endpoint"),
    token_endpoint: endpoint("token_endpoint"),
    jwks_uri: endpoint("jwks_uri"),
    id_token_signing_alg_values_supported: algorithms,
    ...(given["userinfo_endpoint"] !== undefined && { userinfo_endpoint: endpoint("userinfo_endpoint") }),
    ...(methods !== undefined && { token_endpoint_auth_methods_supported: methods }),
    ...(challenges !== undefined && { code_challenge_methods_supported: challenges }),
    ...(given["authorization_response_iss_parameter_supported"] === true && {
      authorization_response_iss_parameter_supported: true,
    }),
  };
}

function readKeySet(text: string): KeySet {
  const { keys } = parseObject(text, "jwks");
  if (!Array.isArray(keys) || keys.some((key) => typeof key !== "object" || key === null))
    throw new ProviderFault("jwks", "is not a JSON Web Key Set");
  if (keys.length > MAX_KEYS) throw new ProviderFault("jwks", `has more than ${MAX_KEYS} keys`);
  const kids = (keys as { kid?: unknown }[]).map(({ kid }) => kid).filter((kid) => typeof kid === "string");
  return { text: JSON.stringify({ keys }), kids: new Set(kids) };
}
