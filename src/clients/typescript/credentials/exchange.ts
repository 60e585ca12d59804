import { Code } from "../bundled/connect.ts";
import type { Transport } from "../bundled/connect.ts";
import { LoginService } from "../../../../gen/atrium/login/v1/login_pb.ts";
import { AtriumError } from "../errors.ts";
import { isTransient, sleep } from "../retry.ts";
import type { Tokens } from "./stores.ts";

/** Within this time the service returns the same successor again, so that a lost answer can be asked for again. */
const GRACE_MS = 10_000;
/** An attempt that begins no later than this arrives in time: the service rotates after the first one was sent. */
const LAST_START_MS = GRACE_MS - 1_000;
/** Longest time of an attempt that others may follow, and of one that none can follow: a slow link needs that long. */
const ATTEMPT_MS = 3_000;
const LAST_ATTEMPT_MS = 15_000;
const PAUSE_MS = 300;

/** Exchanges a refresh token, or the cookie, for the next tokens. @throws AtriumError */
export async function exchange(
  transport: Transport,
  refreshToken: string | undefined,
  headers: Readonly<Record<string, string>> | undefined,
): Promise<Tokens> {
  const start = Date.now();
  for (;;) {
    const isLast = Date.now() + ATTEMPT_MS + PAUSE_MS - start > LAST_START_MS;
    const timeoutMs = isLast ? LAST_ATTEMPT_MS : ATTEMPT_MS;
    try {
      const request = { refreshToken: refreshToken ?? "" };
      const { message } = await transport.unary(LoginService.method.refresh, undefined, timeoutMs, headers, request);
      return tokensOf(message);
    } catch (reason) {
      const error = AtriumError.from(reason);
      const pauseMs = Math.max(PAUSE_MS, error.retryAfterMs ?? 0);
      if (!isTemporary(error) || Date.now() + pauseMs - start > LAST_START_MS) throw error;
      await sleep(pauseMs, undefined);
    }
  }
}

/** Whether a refresh failed for the moment only: its answer did not come, or the service was busy or away. */
export function isTemporary(error: AtriumError): boolean {
  return isTransient(error) || error.code === Code.DeadlineExceeded;
}

/** Whether the service takes an access token. @throws AtriumError when that cannot be known */
export async function isAccepted(transport: Transport, token: string): Promise<boolean> {
  try {
    const { listOwnSessions } = LoginService.method;
    await transport.unary(listOwnSessions, undefined, LAST_ATTEMPT_MS, { authorization: `Bearer ${token}` }, {});
    return true;
  } catch (reason) {
    const error = AtriumError.from(reason);
    if (error.code === Code.Unauthenticated) return false;
    throw error;
  }
}

/** What a sign-in answers, as far as it carries tokens. */
export interface SignedIn {
  accessToken?: string | undefined;
  refreshToken?: string | undefined;
  /** Seconds. */
  expiresIn?: number | undefined;
}

/** @throws TypeError when the sign-in is not complete: the second factor is asked for */
export function tokensOf({ accessToken, refreshToken, expiresIn }: SignedIn): Tokens {
  if (accessToken === undefined || accessToken === "")
    throw new TypeError("The answer has no access token; complete the sign-in with atrium.mfa.challengeTotp.");
  return {
    accessToken,
    refreshToken: refreshToken === "" ? undefined : refreshToken,
    expiresAtMs: Date.now() + (expiresIn ?? 0) * 1_000,
  };
}
