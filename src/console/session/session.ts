import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { QueryCache, QueryClient } from "@tanstack/react-query";
import { AccessService } from "../../../gen/atrium/access/v1/access_pb.ts";
import type { GetMeResponse } from "../../../gen/atrium/access/v1/access_pb.ts";
import { LoginService } from "../../../gen/atrium/login/v1/login_pb.ts";
import type { Elevation, SignedIn } from "../../clients/typescript/index.ts";
import { failureOf } from "./failures.ts";
import { createPrompts } from "./prompts.ts";
import { noteFailure } from "./reach.ts";
import { createStore } from "./store.ts";
import { accessToken, credential, elevatedUntil, hasSession, sessionCalls } from "./transport.ts";

/**
 * Whether somebody is signed in. `starting`: the cookie has not been tried yet; with an `error`, the service did not
 * say whether it is good. `leaving`: the service is asked to end the session, and nothing of it is shown any more.
 */
export type SessionState =
  | { readonly status: "starting"; readonly error?: unknown }
  | { readonly status: "leaving" }
  | { readonly status: "out"; readonly reason?: "idle" | "signed-out" }
  | { readonly status: "in"; readonly me: GetMeResponse };

/** What a door answers when it lets somebody in. */
export type Admission = SignedIn;

/** How long the service has to end a session, milliseconds; enough over a slow link. */
const SIGN_OUT_MS = 30_000;

/** Maximum wait for the message of a tab to itself, milliseconds. */
const HEARING_MS = 1_000;

const state = createStore<SessionState>({ status: "starting" });
const channel = new BroadcastChannel("atrium");

/** Answers of the service, for this tab. Calls that failed on their way are repeated by the client. */
export const queries = new QueryClient({
  queryCache: new QueryCache({ onError: (error) => noteUnreached(error) }),
  defaultOptions: { queries: { retry: false, staleTime: 5_000 }, mutations: { retry: false } },
});

/** Notes that a call failed; when the service is reached again, what is on the page is read anew. */
export function noteUnreached(error: unknown): void {
  noteFailure(error, () => void queries.invalidateQueries());
  if (failureOf(error).code === "forbidden") void follow();
}

/** The sign-in dialog over an open page, and the dialog that asks for a new proof. */
export const signInPrompts = createPrompts<GetMeResponse, true>();
export const stepUpPrompts = createPrompts<DescMethod, Elevation>();

/** `callRest`: for answers that are files. */
export const { transport, rest: callRest } = sessionCalls({
  onSignIn: async () => {
    const now = state.get();
    return now.status === "in" && (await signInPrompts.ask(now.me)) === true;
  },
  onStepUp: async (method) => {
    const elevation = await stepUpPrompts.ask(method);
    if (elevation === undefined) throw new ConnectError("Cancelled.", Code.Canceled);
    return elevation;
  },
});

// A sign-out asks for no sign-in: the session may have ended before.
const own = createClient(LoginService, sessionCalls().transport);
const access = createClient(AccessService, transport);

/** Failures that say nothing about the session: the service was not reached, or had no time. */
const UNKNOWN: ReadonlySet<string> = new Set(["offline", "unavailable", "rate_limited", "internal"]);

/** Counts sign-ins and sign-outs: a start that began before one of them has nothing to say after it. */
let changes = 0;

/** Tries the cookie. Called when the page loads, when another tab signed in, and to try again. */
export async function start(): Promise<void> {
  const began = changes;
  try {
    credential.resume();
    const me = (await hasSession()) ? await access.getMe({}) : undefined;
    if (began === changes) state.set(me === undefined ? { status: "out" } : { status: "in", me });
  } catch (error) {
    if (began === changes && state.get().status === "starting") {
      const isUnknown = UNKNOWN.has(failureOf(error).code);
      state.set(isUnknown ? { status: "starting", error } : { status: "out" });
      if (isUnknown) noteFailure(error, () => void start().catch(() => undefined));
    }
    throw error;
  }
}

async function enter(): Promise<void> {
  state.set({ status: "in", me: await access.getMe({}) });
}

/** Takes the answer of a door. The tokens of a person who was signed in before are forgotten. */
export async function admit(admission: Admission): Promise<void> {
  const before = state.get();
  changes++;
  await credential.signIn(admission);
  const me = await access.getMe({}).catch((error: unknown) => {
    if (before.status === "starting") state.set({ status: "out" });
    throw error;
  });
  const same = before.status === "in" && before.me.userUuid === me.userUuid && before.me.orgUuid === me.orgUuid;
  if (!same) queries.clear();
  state.set({ status: "in", me });
  channel.postMessage({ type: "signed-in", userUuid: me.userUuid, orgUuid: me.orgUuid });
}

/** Reads what the caller is again, after a change of their own. */
export const reload = enter;

let following: Promise<void> | undefined;

/** Reads what the caller is again where somebody else may have changed it. A failure leaves what is shown. */
function follow(): Promise<void> {
  following ??= readAgain().finally(() => (following = undefined));
  return following;
}

async function readAgain(): Promise<void> {
  if (state.get().status !== "in") return;
  const began = changes;
  const me = await access.getMe({}).catch(() => undefined);
  const now = state.get();
  if (me === undefined || now.status !== "in" || began !== changes) return;
  // Another person or organization is the business of the door.
  const isSame = me.userUuid === now.me.userUuid && me.orgUuid === now.me.orgUuid;
  if (isSame && JSON.stringify(me) !== JSON.stringify(now.me)) state.set({ status: "in", me });
}

accessToken.subscribe(() => {
  if (accessToken.get() !== undefined) void follow();
});

function forget(reason: "idle" | "signed-out"): void {
  changes++;
  void credential.clear();
  state.set({ status: "out", reason });
  closePrompts();
  queries.clear();
}

/** Ends what waits for an answer: the person who signs in next is not asked it. */
function closePrompts(): void {
  signInPrompts.get()?.answer(undefined);
  stepUpPrompts.get()?.answer(undefined);
}

/** Forgets, in every tab, a session that the service has ended. */
export function forgetSession(): void {
  forget("signed-out");
  channel.postMessage({ type: "signed-out", reason: "signed-out" } satisfies Message);
}

/**
 * Ends the session on the service, then in every tab.
 * @throws AtriumError when the service did not end it; this tab and the others forget it all the same
 */
export async function signOut(reason: "idle" | "signed-out" = "signed-out"): Promise<void> {
  if (state.get().status !== "in") return;
  state.set({ status: "leaving" });
  closePrompts();
  try {
    await own.logout({}, { timeoutMs: SIGN_OUT_MS });
  } catch (error) {
    // It has ended before.
    if (ConnectError.from(error).code !== Code.Unauthenticated) throw error;
  } finally {
    forget(reason);
    channel.postMessage({ type: "signed-out", reason });
  }
}

interface Message {
  type: "signed-in" | "signed-out" | "activity";
  reason?: "idle" | "signed-out";
  userUuid?: string;
  orgUuid?: string;
  at?: number;
  /** The tab that sends this message to itself. */
  echo?: string;
}

let activeAt = Date.now();
let toldAt = 0;

channel.addEventListener("message", ({ data }: MessageEvent<Message>) => {
  if (data.type === "activity") {
    activeAt = Math.max(activeAt, data.at ?? 0);
    if (data.echo === tab) heard();
  } else if (data.type === "signed-out") forget(data.reason ?? "signed-out");
  else {
    const now = state.get();
    // Another person, or another organization: what this tab shows is no longer theirs.
    if (now.status === "in" && (now.me.userUuid !== data.userUuid || now.me.orgUuid !== data.orgUuid)) {
      forget("signed-out");
      void start();
    } else if (now.status === "in") {
      // The cookie is that of a new session: calls that wait for a sign-in go on with it.
      credential.resume();
      signInPrompts.get()?.answer(true);
    } else if (now.status === "out") void start();
  }
});

/** Notes that the person does something, in all tabs. */
export function noteActivity(): void {
  activeAt = Date.now();
  if (activeAt - toldAt < 5_000) return;
  toldAt = activeAt;
  channel.postMessage({ type: "activity", at: activeAt } satisfies Message);
}

export const idleSince = (): number => activeAt;

const tab = crypto.randomUUID();
const echo = new BroadcastChannel("atrium");
let heard = (): void => undefined;

/**
 * Resolves when this tab has heard what others have said until now. One that the browser froze hears of it only after
 * its page is shown again.
 */
export function hearOthers(): Promise<void> {
  return new Promise((resolve) => {
    heard = resolve;
    // Messages of a channel arrive in order, this one last.
    echo.postMessage({ type: "activity", at: activeAt, echo: tab } satisfies Message);
    setTimeout(resolve, HEARING_MS);
  });
}

// A page from the back-forward cache may be of a session that ended meanwhile.
addEventListener("pageshow", ({ persisted }) => {
  if (persisted && state.get().status === "in") void access.getMe({}).catch(() => undefined);
});

export const sessionStore = { get: state.get, subscribe: state.subscribe };
export const elevationStore = { get: elevatedUntil.get, subscribe: elevatedUntil.subscribe };
