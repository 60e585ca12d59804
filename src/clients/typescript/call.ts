import { Code, ConnectError } from "./bundled/connect.ts";
import type { Transport } from "./bundled/connect.ts";
import type { DescMethod } from "@bufbuild/protobuf";
import type { Credential, Elevation } from "./credentials/credential.ts";
import { AtriumError } from "./errors.ts";
import { policyOf } from "./policy.ts";
import type { MethodPolicy } from "./policy.ts";
import { isTransient, sleep, waitBefore } from "./retry.ts";

/** The longest time of a timer: longer ones would end at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** How calls are made. */
export interface CallSettings {
  /** The connection, without credential. */
  transport: Transport;
  credential: Credential | undefined;
  /** Attempts after the first. */
  retries: number;
  /** Runs the step-up of the application; shared by calls that need it at the same time. */
  stepUp: ((method: DescMethod) => Promise<Elevation | undefined>) | undefined;
  /** Lets the person sign in again; shared likewise. */
  signIn: (() => Promise<boolean>) | undefined;
  /** A service that asks for a longer wait is not waited for. */
  maxRetryAfterMs: number;
}

/** One attempt of a call, with its headers and the time that is left; undefined when there is no limit. */
type Attempt<T> = (headers: CallHeaders, timeoutMs: number | undefined) => Promise<T>;

/** Headers of a call by their names in lower case: a transport that needs a `Headers` makes it. */
type CallHeaders = Record<string, string>;

/**
 * Makes a call: adds the credential, and repeats what may be repeated. A refused call (401, step-up) has had no effect
 * and is repeated once with another token; a lost one only where the contract makes that harmless.
 * @throws AtriumError
 */
export async function runCall<T>(
  settings: CallSettings,
  method: DescMethod,
  given: {
    header: ConstructorParameters<typeof Headers>[0];
    signal: AbortSignal | undefined;
    timeoutMs: number | undefined;
  },
  attempt: Attempt<T>,
): Promise<T> {
  const { credential, transport, retries } = settings;
  const policy = policyOf(method);
  const { signal } = given;
  const headers: CallHeaders = given.header === undefined ? {} : Object.fromEntries(new Headers(given.header));
  const timeoutMs = limitOf(given.timeoutMs);
  let endsAt = timeoutMs === undefined ? undefined : Date.now() + timeoutMs;
  const leftMs = (): number | undefined => (endsAt === undefined ? undefined : endsAt - Date.now());
  const asking = { transport, signal };
  const presents = policy.authenticated && credential !== undefined && headers["authorization"] === undefined;

  for (const [name, value] of Object.entries(credential?.headers?.(method) ?? {})) headers[name.toLowerCase()] = value;
  if (policy.idempotent) headers["idempotency-key"] ??= randomUuid();

  let token: string | undefined;
  if (presents) {
    const present = credential.token(asking);
    token = present instanceof Promise ? await within(present, leftMs(), signal) : present;
    // Read last: a credential that finds another session in its store drops the elevation of the former one.
    if (policy.elevated) token = credential.elevated?.() ?? token;
  }
  let [renewed, elevated, signedIn] = [false, false, false];
  for (let lost = 0; ; ) {
    if (token !== undefined) headers["authorization"] = bearerOf(token);
    const left = leftMs();
    if (left !== undefined && left <= 0) throw timedOut();
    try {
      return await attempt(headers, left);
    } catch (reason) {
      const error = lostOf(AtriumError.from(reason), signal);
      const other = presents ? await otherToken(error) : undefined;
      if (other !== undefined) token = other;
      else {
        const mayWait = mayRepeat(policy, headers, credential, error, lost);
        const waitMs = mayWait ? waitBefore(lost, error, settings.maxRetryAfterMs) : undefined;
        if (waitMs === undefined || lost >= retries || waitMs >= (leftMs() ?? Infinity)) throw error;
        lost++;
        await sleep(waitMs, signal).catch(() => {
          throw canceled(signal);
        });
      }
    }
  }

  /** The token to repeat a refused call with; undefined when there is none, or it was tried. */
  async function otherToken(error: AtriumError): Promise<string | undefined> {
    if (error.code === Code.Unauthenticated) return (await renewedToken()) ?? (await signedInToken());
    if (error.errorCode !== "step_up_required" || elevated) return undefined;
    const held = credential?.elevated?.();
    if (held !== undefined && held !== token) return held;
    elevated = true;
    const elevation = await settings.stepUp?.(method);
    if (elevation === undefined) return undefined;
    restartDeadline();
    credential?.elevate?.(elevation);
    return elevation.elevatedToken;
  }

  async function renewedToken(): Promise<string | undefined> {
    if (token === undefined || renewed) return undefined;
    if (token === credential?.elevated?.()) {
      credential.lower?.(token);
      return within(credential.token(asking), leftMs(), signal);
    }
    renewed = true;
    const other = credential?.renew?.(token, { ...asking, safe: policy.safe });
    return other === undefined ? undefined : within(other, leftMs(), signal);
  }

  /** Only where the session is over: a call can also be refused for what it carries, such as a wrong code. */
  async function signedInToken(): Promise<string | undefined> {
    if (signedIn || credential === undefined || settings.signIn === undefined || !policy.credentialRequired)
      return undefined;
    if ((await within(credential.token(asking), leftMs(), signal)) !== undefined) return undefined;
    signedIn = true;
    if (!(await settings.signIn())) return undefined;
    restartDeadline();
    return within(credential.token(asking), leftMs(), signal);
  }

  /** A person takes their time. */
  function restartDeadline(): void {
    if (timeoutMs !== undefined) endsAt = Date.now() + timeoutMs;
  }
}

/** @throws TypeError for a token that no header can carry; white space around one is left out, as `Headers` does */
function bearerOf(token: string): string {
  const value = `Bearer ${token}`;
  if (/^[!-~]+$/u.test(token)) return value;
  try {
    return new Headers({ authorization: value }).get("authorization") ?? value;
  } catch {
    // The error of some runtimes names the token.
    throw new TypeError("The token has characters that no header can carry.");
  }
}

/** The limit of a call, in whole milliseconds, as its header needs them; undefined when it has none. */
function limitOf(timeoutMs = 0): number | undefined {
  return timeoutMs > 0 && timeoutMs <= MAX_TIMER_MS ? Math.ceil(timeoutMs) : undefined;
}

/** Returns `unavailable` for a call whose connection ended, which transports of connect-node report as `canceled`. */
export function lostOf(error: AtriumError, signal: AbortSignal | undefined): AtriumError {
  const { code, status, rawMessage, metadata, cause } = error;
  if (code !== Code.Canceled || status !== 0 || signal?.aborted === true) return error;
  return AtriumError.from(new ConnectError(rawMessage, Code.Unavailable, metadata, undefined, cause));
}

function mayRepeat(
  policy: MethodPolicy,
  headers: CallHeaders,
  credential: Credential | undefined,
  error: AtriumError,
  lost: number,
): boolean {
  const authenticated = headers["authorization"] !== undefined || credential?.byConnection === true;
  if (!policy.safe && !(policy.idempotent && authenticated)) return false;
  // The first attempt may still be running, its answer lost: the service then returns 409 for its key.
  const running = lost > 0 && policy.idempotent && error.status === 409 && error.errorCode === "conflict";
  return running || isTransient(error);
}

const timedOut = (): AtriumError =>
  AtriumError.from(new ConnectError("the operation timed out", Code.DeadlineExceeded));

function canceled(signal: AbortSignal | undefined): AtriumError {
  const reason: unknown = signal?.reason;
  return AtriumError.from(new ConnectError("This operation was aborted", Code.Canceled, undefined, undefined, reason));
}

/** Waits for what several calls share, no longer than this call may last. */
export async function within<T>(
  work: T | Promise<T>,
  leftMs: number | undefined,
  signal: AbortSignal | undefined,
): Promise<T> {
  if (!(work instanceof Promise)) return work;
  if (leftMs === undefined && signal === undefined) return work;
  const done = new AbortController();
  const end = signal === undefined ? done.signal : AbortSignal.any([signal, done.signal]);
  const late = sleep(leftMs ?? MAX_TIMER_MS, end).then(
    () => {
      throw timedOut();
    },
    () => {
      throw canceled(signal);
    },
  );
  try {
    return await Promise.race([work, late]);
  } finally {
    done.abort();
  }
}

/** `crypto.randomUUID` exists in secure contexts only. */
function randomUuid(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/u, "$1-$2-$3-$4-$5");
}
