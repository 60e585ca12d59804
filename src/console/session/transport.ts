import type { Transport } from "@connectrpc/connect";
import { createAtriumTransport, createRestCall, lockSession, session } from "../../clients/typescript/index.ts";
import type { AtriumOptions, Credential, RestCall, Session } from "../../clients/typescript/index.ts";
import { serviceUrl } from "../settings.ts";
import { deviceUuid, preferences } from "./preferences.ts";
import { createStore } from "./store.ts";

/** What the transport asks of the person while a call waits. */
export type SessionHooks = Required<Pick<AtriumOptions, "onSignIn" | "onStepUp">>;

const options = {
  baseUrl: serviceUrl,
  timeoutMs: 30_000,
  // A person would rather see that the service is busy, and for how long.
  maxRetryAfterMs: 1_000,
} satisfies AtriumOptions;

// Tokens are in variables of this credential alone: in no storage, no URL, no cache and no log. The refresh token is in
// a cookie that scripts cannot read.
const tokens = session({
  cookie: () => (preferences().keepSignedIn ? "persistent" : true),
  deviceUuid,
});

/** When the elevated token ends, in milliseconds of this browser's clock. */
export const elevatedUntil = createStore<number | undefined>(undefined);

/**
 * The access token that calls send. The service ends the tokens of those whose power changes, so that another one may
 * stand for another power.
 */
export const accessToken = createStore<string | undefined>(undefined);

/** The session of this tab. */
export const credential: Session = {
  ...tokens,
  async token(asking) {
    const token = await tokens.token(asking);
    accessToken.set(token);
    return token;
  },
  async renew(refused, asking) {
    const token = await tokens.renew?.(refused, asking);
    if (token !== undefined) accessToken.set(token);
    return token;
  },
  elevate(elevation) {
    tokens.elevate?.(elevation);
    elevatedUntil.set(Date.now() + elevation.expiresIn * 1_000);
  },
  lower(token) {
    tokens.lower?.(token);
    if (tokens.elevated?.() === undefined) elevatedUntil.set(undefined);
  },
  async signIn(answer) {
    elevatedUntil.set(undefined);
    await tokens.signIn(answer);
  },
  async clear() {
    elevatedUntil.set(undefined);
    accessToken.set(undefined);
    await tokens.clear();
  },
};

export function dropElevation(): void {
  const token = credential.elevated?.();
  if (token !== undefined) credential.lower?.(token);
  elevatedUntil.set(undefined);
}

/** Says that a door is used by this browser, and sends no token. */
const door: Credential = { token: () => undefined, headers: (method) => tokens.headers?.(method) };

/** Calls without a credential. */
const open = createAtriumTransport({ ...options, credential: door });

/**
 * The same, for the doors. One that sets the cookie waits for a refresh that is under way in any tab, whose answer
 * would replace the cookie of the new session by that of the old one.
 */
export const publicTransport: Transport = {
  ...open,
  unary: (method, ...call) => {
    const enter = () => open.unary(method, ...call);
    return door.headers?.(method) === undefined ? enter() : lockSession(enter);
  },
};

/** Calls of nobody: a sign-in by it leaves the cookie and the session of this browser as they are. */
export const plainTransport: Transport = createAtriumTransport(options);

/** Whether there is a session: renews the access token by the cookie where it has to. @throws AtriumError */
export async function hasSession(): Promise<boolean> {
  return (await credential.token({ transport: open, signal: undefined })) !== undefined;
}

/** Calls of the session: over Connect, and over REST where the answer is a file. Without hooks they ask nobody. */
export function sessionCalls(hooks?: SessionHooks): { transport: Transport; rest: RestCall } {
  const all = { ...options, ...hooks, credential };
  return { transport: createAtriumTransport(all), rest: createRestCall(all) };
}
