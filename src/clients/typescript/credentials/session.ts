import { Code } from "../bundled/connect.ts";
import { within } from "../call.ts";
import { AtriumError } from "../errors.ts";
import { policyOf } from "../policy.ts";
import type { Asking, Credential, Elevation } from "./credential.ts";
import { exchange, isAccepted, isTemporary, tokensOf } from "./exchange.ts";
import type { SignedIn } from "./exchange.ts";
import { createKeptTokens } from "./kept-tokens.ts";
import { sessionOf } from "./session-of.ts";
import { lockAcrossTabs, memoryStore } from "./stores.ts";
import type { SessionStore, Tokens } from "./stores.ts";

const RENEW_BEFORE_MS = 30_000;
/** While the present token is valid, a refresh is waited for this long; after a failure there is none for a while. */
const PATIENCE_MS = 3_000;
const PAUSE_MS = 2_000;
/** Name of the lock of all tabs whose refresh token is in the cookie of the origin. */
const COOKIE_LOCK = "atrium.session";

/** Options of {@link session}. */
export interface SessionOptions {
  /** Default: memory. */
  store?: SessionStore;
  /**
   * The refresh token stays in a cookie that scripts cannot read; only for pages of the service's own origin.
   * `persistent` keeps the cookie when the browser is closed.
   */
  cookie?: boolean | "persistent" | (() => boolean | "persistent");
  /** Id of this device, a UUID, by which lists of sessions tell devices apart. It proves nothing. */
  deviceUuid?: string | (() => string);
  /** Called once when the service refuses to go on with the session. */
  onSignedOut?: () => void;
  /** Called with what the store throws; the session goes on in memory. */
  onStoreError?: (error: unknown) => void;
}

/** The credential of a signed-in person. */
export interface Session extends Credential {
  /** Takes the tokens of a completed sign-in, switch or sign-up. */
  signIn(answer: SignedIn): Promise<void>;
  /** Forgets the tokens. `atrium.login.logout` ends the session on the service. */
  clear(): Promise<void>;
  /** In cookie mode: asks the service again whether there is a session, after another tab signed in. */
  resume(): void;
}

/**
 * Keeps a person signed in: the access token is renewed 30 seconds before it expires and after a 401, by one refresh at
 * a time.
 */
export function session(options: SessionOptions = {}): Session {
  const { onSignedOut, onStoreError } = options;
  const store = options.store ?? memoryStore();
  const kept = createKeptTokens(store, onStoreError ?? (() => undefined));
  const inCookie = options.cookie !== undefined && options.cookie !== false;
  const lock = store.lock?.bind(store) ?? (inCookie ? lockSession : undefined);
  /** Counts sign-ins and sign-outs: a refresh that began before one of them has nothing to say after it. */
  let generation = 0;
  let refused = false;
  let flight: Promise<Tokens | undefined> | undefined;
  let pausedUntilMs = 0;
  let elevation: { token: string; untilMs: number; session: string | undefined } | undefined;

  const sessionHeaders = (): Record<string, string> => {
    const mode = typeof options.cookie === "function" ? options.cookie() : options.cookie;
    const device = typeof options.deviceUuid === "function" ? options.deviceUuid() : options.deviceUuid;
    return {
      ...(inCookie && { "x-atrium-session": mode === "persistent" ? "cookie; persistent" : "cookie" }),
      ...(device !== undefined && { "x-device-uuid": device }),
    };
  };

  const replace = async (tokens: Tokens | undefined): Promise<void> => {
    generation++;
    refused = false;
    flight = undefined;
    pausedUntilMs = 0;
    elevation = undefined;
    await kept.set(tokens);
  };

  /** The tokens in the store. An elevation of another session, which was there before, ends. */
  async function read(): Promise<Tokens | undefined> {
    const tokens = await kept.get();
    if (elevation !== undefined && elevation.session !== sessionOf(tokens?.accessToken)) elevation = undefined;
    return tokens;
  }

  const canRefresh = (tokens: Tokens | undefined): boolean =>
    inCookie ? !refused : tokens?.refreshToken !== undefined;

  /** The next tokens; those that another client of the store has got meanwhile, if any. */
  async function next(old: Tokens | undefined, { transport }: Asking): Promise<Tokens | undefined> {
    const began = generation;
    const present = await read();
    if (present !== undefined && present.accessToken !== old?.accessToken && !isExpiring(present)) return present;
    if (!canRefresh(present)) return undefined;
    try {
      const tokens = await exchange(transport, present?.refreshToken, sessionHeaders());
      const meanwhile = await read();
      // Another client of the store signed in or out, or was quicker: what it left there counts.
      if (began !== generation || !isSame(meanwhile, present)) return meanwhile;
      await kept.set(tokens);
      return tokens;
    } catch (reason) {
      const error = AtriumError.from(reason);
      // Without a status it is not the service that refused, but something before it.
      if (error.code !== Code.Unauthenticated || error.status === 0) throw error;
      const meanwhile = await read();
      if (began !== generation || meanwhile?.accessToken !== present?.accessToken) return meanwhile;
      refused = true;
      elevation = undefined;
      await kept.set(undefined);
      onSignedOut?.();
      return undefined;
    }
  }

  function refresh(old: Tokens | undefined, asking: Asking): Promise<Tokens | undefined> {
    if (flight !== undefined) return flight;
    const work = (): Promise<Tokens | undefined> => next(old, asking);
    const started = (lock === undefined ? work() : lock(work)).finally(() => {
      if (flight === started) flight = undefined;
    });
    flight = started;
    return started;
  }

  return {
    async token(asking) {
      const tokens = await read();
      if (tokens !== undefined && !isExpiring(tokens)) return tokens.accessToken;
      if (!canRefresh(tokens)) return tokens?.accessToken;
      if (tokens === undefined || !isValid(tokens)) return (await refresh(tokens, asking))?.accessToken;
      if (Date.now() < pausedUntilMs) return tokens.accessToken;
      try {
        return (await within(refresh(tokens, asking), PATIENCE_MS, asking.signal))?.accessToken;
      } catch (reason) {
        const error = AtriumError.from(reason);
        if (!isTemporary(error)) throw error;
        pausedUntilMs = Date.now() + Math.max(PAUSE_MS, error.retryAfterMs ?? 0);
        if (isValid(tokens)) return tokens.accessToken;
        if (flight === undefined) throw error;
        return (await flight)?.accessToken;
      }
    },
    async renew(token, asking) {
      const tokens = await read();
      if (tokens === undefined) return undefined;
      if (tokens.accessToken !== token) return tokens.accessToken;
      // A writing call can also be refused for what it carries, such as a wrong code, which counts as a failed attempt:
      // it is not repeated unless the token was the reason.
      if (!asking.safe && (await isAccepted(asking.transport, token))) return undefined;
      return (await refresh(tokens, asking))?.accessToken;
    },
    headers: (method) => (policyOf(method).session ? sessionHeaders() : undefined),
    elevated: () => (elevation !== undefined && Date.now() < elevation.untilMs ? elevation.token : undefined),
    elevate({ elevatedToken, expiresIn }: Elevation) {
      const untilMs = Date.now() + expiresIn * 1_000 - RENEW_BEFORE_MS;
      elevation = { token: elevatedToken, untilMs, session: sessionOf(elevatedToken) };
    },
    lower(token) {
      if (elevation?.token === token) elevation = undefined;
    },
    signIn: async (answer) => replace(tokensOf(answer)),
    clear: () => replace(undefined),
    resume() {
      refused = false;
    },
  };
}

const isExpiring = ({ expiresAtMs }: Tokens): boolean => expiresAtMs - Date.now() < RENEW_BEFORE_MS;

const isValid = ({ expiresAtMs }: Tokens): boolean => Date.now() < expiresAtMs;

const isSame = (one: Tokens | undefined, other: Tokens | undefined): boolean =>
  one?.accessToken === other?.accessToken && one?.refreshToken === other?.refreshToken;

/** In cookie mode: runs `work` while no tab of the origin refreshes; for calls that replace the cookie. */
export const lockSession = <T>(work: () => Promise<T>): Promise<T> => lockAcrossTabs(COOKIE_LOCK, work);
