import type { Clock } from "../../platform/clock.ts";
import { createLru } from "../../platform/lru.ts";
import { OutgoingError } from "../../platform/outgoing/client.ts";
import type { GuardedClient, OutgoingResponse } from "../../platform/outgoing/client.ts";
import { parseObject, ProviderFault, readEndpoints, readIssuer, readKeySet } from "./discovery.ts";
import type { KeySet, ProviderDocument } from "./discovery.ts";

const MAX_BYTES = 512 * 1024;
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

/** Fetches a document of a provider. @throws ProviderFault */
export async function fetchDocument(
  outgoing: Pick<GuardedClient, "request">,
  url: string,
  part: ProviderFault["part"],
): Promise<OutgoingResponse> {
  try {
    const answer = await outgoing.request({
      method: "GET",
      url,
      headers: { accept: "application/json" },
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
    });
    if (answer.unreadable !== undefined) throw answer.unreadable;
    if (answer.status !== 200) throw new ProviderFault(part, `answered ${answer.status}`);
    if (answer.truncated) throw new ProviderFault(part, `is larger than ${MAX_BYTES} bytes`);
    return answer;
  } catch (cause) {
    if (cause instanceof OutgoingError) throw new ProviderFault(part, cause.message, { cause });
    throw cause;
  }
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
          const { body, headers } = await fetchDocument(outgoing, connection.discoveryUrl, "discovery");
          const given = parseObject(body.toString("utf8"), "discovery");
          const value = { issuer: readIssuer(given, connection.discoveryUrl), ...readEndpoints(given) };
          demandCallable(outgoing, value);
          return { value, headers };
        },
      ),

    /** The key set of a connection where it need not be fetched. */
    async knownKeys(
      connection: { uuid: string },
      jwksUri: string,
      kid: string | undefined,
    ): Promise<string | undefined> {
      const entry = keySets.get(`${connection.uuid} ${jwksUri}`);
      if (entry === undefined || clock.now() >= entry.until) return undefined;
      const found = await entry.value.catch(() => undefined);
      return found !== undefined && (kid === undefined || found.kids.has(kid)) ? found.text : undefined;
    },

    /** The key set of a connection, fetched again once when it has no key `kid`. @throws ProviderFault */
    async keys(connection: { uuid: string }, jwksUri: string, kid: string | undefined): Promise<string> {
      const fetch = async () => {
        const { body, headers } = await fetchDocument(outgoing, jwksUri, "jwks");
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

/** Checks that the guard lets the service call a provider's endpoints. @throws ProviderFault */
export function demandCallable(
  { vetUrl }: Pick<GuardedClient, "vetUrl">,
  { token_endpoint, jwks_uri, userinfo_endpoint }: Omit<ProviderDocument, "issuer">,
): void {
  for (const url of [token_endpoint, jwks_uri, userinfo_endpoint])
    if (url !== undefined && vetUrl(url) !== undefined)
      throw new ProviderFault("endpoints", "names an endpoint that must not be called");
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
