import { directFetch } from "../direct-fetch.ts";
import type { Caller } from "./caller.ts";
import { createKeySets } from "./key-sets.ts";
import { createOffline } from "./offline.ts";
import { createOnline } from "./online.ts";
import { unauthorized } from "./refusal.ts";

/** What a key or an automation token may consist of; the service is not asked about anything else. */
const OPAQUE = /^[!-~]{1,1000}$/u;

/** Options of {@link createVerifier}. */
export interface VerifierOptions {
  /** `SERVICE_BASE_URL` of the service: the `iss` of its tokens. */
  issuer: string;
  /** Where the service is reached from here; default: at its issuer. Keys are fetched from nowhere else. */
  baseUrl?: string;
  /** Organizations that are served here; default: all. Tokens that name others cost no request. */
  orgs?: readonly string[];
  /** Longest time since a token was issued, in seconds; default: until it expires. */
  maxAge?: number;
  /**
   * Asks the service about every credential, so that one that was revoked is refused at once and API keys are accepted
   * too. `cacheMs` is how long an answer is used again.
   */
  introspect?: boolean | { cacheMs: number };
  /** Default: `globalThis.fetch`. */
  fetch?: typeof globalThis.fetch;
}

/** Verifies the credentials of requests. */
export interface Verifier {
  /** @throws TokenRefusal */
  verify(token: string): Promise<Caller>;
  /** Verifies, and asks the service now whatever the options say. @throws TokenRefusal */
  introspect(token: string): Promise<Caller>;
}

/**
 * Verifies access tokens with the published keys of their organizations, without a request for each: a token that was
 * revoked passes until it expires, unless `introspect` is set.
 */
export function createVerifier(options: VerifierOptions): Verifier {
  const { issuer, introspect = false } = options;
  const baseUrl = (options.baseUrl ?? issuer).replace(/\/+$/u, "");
  const orgs = options.orgs === undefined ? undefined : new Set(options.orgs.map((org) => org.toLowerCase()));
  const maxAgeMs = options.maxAge === undefined ? undefined : options.maxAge * 1_000;
  const keys = createKeySets(baseUrl, directFetch(options.fetch), { anyOrg: orgs === undefined });
  const offline = createOffline({ issuer, orgs, maxAgeMs }, keys);
  const online = createOnline(baseUrl, typeof introspect === "object" ? introspect.cacheMs : 0, options.fetch);

  async function ask(token: string, cached: boolean): Promise<Caller> {
    const isJwt = token.split(".").length === 3;
    const base = isJwt ? await offline(token) : undefined;
    if (base === undefined && !OPAQUE.test(token)) throw unauthorized("This is not a credential of the service.");
    const present = await online(token, { cached });
    if (orgs?.has(present.orgUuid) === false)
      throw unauthorized("The credential is of an organization that is not served here.");
    return { elevated: false, sessionId: undefined, claims: {}, token, ...base, ...present };
  }

  return {
    verify: async (token) => (introspect === false ? offline(token) : ask(token, true)),
    introspect: (token) => ask(token, false),
  };
}
