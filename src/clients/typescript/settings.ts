import type { DescMethod } from "@bufbuild/protobuf";
import type { Transport } from "./bundled/connect.ts";
import { createConnectTransport } from "./bundled/connect-web.ts";
import type { CallSettings } from "./call.ts";
import type { Credential, Elevation } from "./credentials/credential.ts";
import { directFetch } from "./direct-fetch.ts";

/**
 * A `Transport` of any version of Connect 2: its parameters are not compared, since versions before 2.5 of
 * `@bufbuild/protobuf` describe messages by other types.
 */
export interface AnyTransport {
  unary(...call: never): Promise<{ stream: false; header: Headers; message: object; trailer: Headers }>;
  stream(...call: never): Promise<{ stream: true; header: Headers; message: AsyncIterable<object>; trailer: Headers }>;
}

/** Options of `createAtriumTransport` and `createRestCall`. */
export interface AtriumOptions {
  /** Where the service is, such as `https://atrium.example`. */
  baseUrl: string;
  /** What calls are authenticated with. Without: only public calls succeed. */
  credential?: Credential;
  /**
   * How long a unary call may take with all its attempts, and one over REST until its response begins; default 10,000,
   * and 0 sets no limit. Streams have no end of their own.
   */
  timeoutMs?: number;
  /** Attempts after the first, where the contract makes them harmless; default 2. */
  retries?: number;
  /** A service that asks for a longer wait by `Retry-After` is not waited for; default 30,000. */
  maxRetryAfterMs?: number;
  /**
   * Called when an operation demands a step-up. Resolves to the answer of `stepUp.verifyChallenge`, with which the call
   * is repeated; to undefined when the person cancels.
   */
  onStepUp?: (method: DescMethod) => Promise<Elevation | undefined>;
  /**
   * Called when the session is over and a call needs it. Resolves to true once the person is signed in again, and the
   * call is repeated; to false when they are not.
   */
  onSignIn?: () => Promise<boolean>;
  /** Default: Connect over `fetch`. `@atrium/client/node` has gRPC. */
  transport?: AnyTransport;
  /** Default: `globalThis.fetch`. */
  fetch?: typeof globalThis.fetch;
}

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_RETRIES = 2;
const DEFAULT_MAX_RETRY_AFTER_MS = 30_000;

/** How calls are made, and over which connection. */
interface Settings extends CallSettings {
  baseUrl: string;
  timeoutMs: number;
  fetch: typeof globalThis.fetch;
}

/** What the options say, with the defaults. */
export function settingsOf(options: AtriumOptions): Settings {
  const { credential, onSignIn, onStepUp } = options;
  const baseUrl = options.baseUrl.replace(/\/+$/u, "");
  const fetch = directFetch(options.fetch);
  return {
    baseUrl,
    fetch,
    timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    transport:
      (options.transport as Transport | undefined) ?? createConnectTransport({ baseUrl, useBinaryFormat: true, fetch }),
    credential,
    retries: options.retries ?? DEFAULT_RETRIES,
    maxRetryAfterMs: options.maxRetryAfterMs ?? DEFAULT_MAX_RETRY_AFTER_MS,
    stepUp: onStepUp === undefined ? undefined : shared(onStepUp),
    signIn: onSignIn === undefined ? undefined : shared(onSignIn),
  };
}

/** Calls that come while one is under way share its result. */
function shared<A extends unknown[], T>(work: (...args: A) => Promise<T>): (...args: A) => Promise<T> {
  let flight: Promise<T> | undefined;
  return (...args) =>
    (flight ??= work(...args).finally(() => {
      flight = undefined;
    }));
}
