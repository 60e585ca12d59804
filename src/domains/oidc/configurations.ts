import { AsyncLocalStorage } from "node:async_hooks";
import * as client from "openid-client";
import { systemClock } from "../../platform/clock.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Sealer } from "../../platform/crypto/sealed.ts";
import { createLru } from "../../platform/lru.ts";
import { OutgoingError } from "../../platform/outgoing/client.ts";
import type { GuardedClient, OutgoingRequest } from "../../platform/outgoing/client.ts";
import type { Connection } from "./connection-store.ts";
import { secretContext } from "./connections.ts";
import { authenticationOf, ProviderFault } from "./discovery.ts";
import type { ProviderDocument } from "./discovery.ts";
import type { Documents } from "./documents.ts";

/** Dependencies of the conversation with providers. */
export interface ProviderDeps {
  outgoing: Pick<GuardedClient, "request" | "vetUrl">;
  clock: Clock;
  sealer: Pick<Sealer, "open">;
}

/** A code exchange under way: the library makes its requests. */
export interface Grant {
  /** Why requests had no usable response. */
  faults: unknown[];
  /** Response of the token endpoint: a code is sent once, also where its response is processed again. */
  tokens?: TokenResponse;
}

interface TokenResponse {
  status: number;
  text: string;
  contentType?: string | undefined;
}

/** A connection as the library has it, with keys that it has imported. */
interface Configured {
  configuration: client.Configuration;
  /** The key set it has asked for; it never gets another one. */
  keys?: string;
  document: ProviderDocument;
  clientId: string;
  clientSecret: Buffer;
  /** Of the service's clock against the machine's, seconds. */
  skewS: number;
}

const TOLERANCE_S = 300;
const MAX_BYTES = 256 * 1024;
const CONFIGURED = 2_000;
/** How far the service's clock, which only tests advance, may move before the library learns of it. */
const MAX_DRIFT_S = 15;

/** Configurations of openid-client, one for each connection while it stays as it is. */
export function createConfigurations({ outgoing, clock, sealer, documents }: ProviderDeps & { documents: Documents }) {
  const known = createLru<Configured>(CONFIGURED);
  const grants = new AsyncLocalStorage<Grant>();

  async function askTokens(url: string, options: client.CustomFetchOptions): Promise<TokenResponse> {
    const { status, body, truncated, unreadable, headers } = await outgoing.request(requestOf(url, options));
    if (unreadable !== undefined) throw unreadable;
    if (status >= 500) throw new ProviderFault("token", `answered ${status}`);
    return { status, text: truncated ? "" : body.toString("utf8"), contentType: headers["content-type"] };
  }

  function configure(connection: Connection, document: ProviderDocument): Configured {
    const { clientId, clientSecret } = connection;
    const secret = sealer.open(clientSecret, secretContext(connection.uuid)).toString("utf8");
    const isBasic = authenticationOf(document) === "client_secret_basic";
    const authentication = isBasic ? client.ClientSecretBasic(secret) : client.ClientSecretPost(secret);
    // The service's clock, which a test advances; the library reads the machine's.
    const skewS = skewOf(clock);
    const metadata = { [client.clockSkew]: skewS, [client.clockTolerance]: TOLERANCE_S };
    const configuration = new client.Configuration({ ...document }, clientId, metadata, authentication);
    // The guard decides which URLs may be called without TLS.
    client.allowInsecureRequests(configuration);
    client.enableNonRepudiationChecks(configuration);
    const configured: Configured = { configuration, document, clientId, clientSecret, skewS };
    configuration[client.customFetch] = async (url, options) => {
      const grant = grants.getStore() ?? { faults: [] };
      try {
        if (url === document.jwks_uri) {
          const keys = await documents.keys(connection, document.jwks_uri, kidOf(grant.tokens));
          configured.keys ??= keys;
          return jsonResponse({ status: 200, text: configured.keys });
        }
        if (url !== document.token_endpoint) return jsonResponse(await askTokens(url, options));
        return jsonResponse((grant.tokens ??= await askTokens(url, options)));
      } catch (error) {
        if (error instanceof ProviderFault || error instanceof OutgoingError) grant.faults.push(error);
        throw error;
      }
    };
    return configured;
  }

  /** The connection as it is now; `renewed` without the keys that the library has. */
  function configured(connection: Connection, document: ProviderDocument, renewed = false): Configured {
    const { uuid, clientId, clientSecret } = connection;
    const found = known.get(uuid);
    const isRight =
      found?.document === document &&
      found.clientId === clientId &&
      found.clientSecret.equals(clientSecret) &&
      Math.abs(found.skewS - skewOf(clock)) <= MAX_DRIFT_S;
    if (isRight && !renewed) return found;
    const made = configure(connection, document);
    known.set(uuid, made);
    return made;
  }

  return {
    /** For a request that the browser makes. */
    authorizing: (connection: Connection, document: ProviderDocument): client.Configuration =>
      configured(connection, document).configuration,

    /** Runs an exchange with a configuration of its own. */
    exchangingOnce<T>(
      connection: Connection,
      document: ProviderDocument,
      grant: Grant,
      exchange: (configuration: client.Configuration) => Promise<T>,
    ): Promise<T> {
      return grants.run(grant, exchange, configure(connection, document).configuration);
    },

    /**
     * Runs an exchange with the keys that the library has imported before. What came of it counts while these are the
     * keys of the cache; otherwise the response of the provider is processed again, with keys that are.
     */
    async exchanging<T>(
      connection: Connection,
      document: ProviderDocument,
      grant: Grant,
      exchange: (configuration: client.Configuration) => Promise<T>,
    ): Promise<T> {
      const first = configured(connection, document);
      const [outcome] = await Promise.allSettled([grants.run(grant, exchange, first.configuration)]);
      if (first.keys !== undefined) {
        const keys = await documents.knownKeys(connection, document.jwks_uri, kidOf(grant.tokens));
        if (keys !== first.keys)
          return grants.run(grant, exchange, configured(connection, document, true).configuration);
      }
      if (outcome.status === "rejected") throw outcome.reason;
      return outcome.value;
    },
  };
}

function requestOf(url: string, { method, headers, body }: client.CustomFetchOptions): OutgoingRequest {
  const form = body instanceof URLSearchParams ? body.toString() : typeof body === "string" ? body : undefined;
  return {
    method: method === "POST" ? "POST" : "GET",
    url,
    headers,
    ...(form !== undefined && { body: form }),
    timeoutMs: 10_000,
    maxBytes: MAX_BYTES,
  };
}

function skewOf(clock: Clock): number {
  return Math.round((clock.now() - systemClock.now()) / 1000);
}

function jsonResponse({ status, text, contentType = "application/json" }: TokenResponse): Response {
  const empty = status === 204 || status === 205 || status === 304;
  return new Response(empty ? null : text, { status, headers: { "content-type": contentType } });
}

/** The key that signed the ID token of a token response, as its header says; nothing of it is trusted yet. */
function kidOf(response: TokenResponse | undefined): string | undefined {
  try {
    const { id_token } = JSON.parse(response?.text ?? "") as { id_token: string };
    const header = headerOf(id_token);
    return typeof header["kid"] === "string" ? header["kid"] : undefined;
  } catch {
    return undefined;
  }
}

/** The header of a JWT, which nobody has verified. */
export function headerOf(jwt: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(jwt.split(".")[0] ?? "", "base64url").toString("utf8")) as Record<string, unknown>;
}
