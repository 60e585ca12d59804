import { startApp } from "../support/app.ts";
import type { Answer, AppOptions, TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { startHostileProvider } from "./hostile-provider.ts";
import type { HostileProvider, Subject } from "./hostile-provider.ts";

/** An organization with one connection. */
export interface Realm {
  app: TestApp;
  provider: HostileProvider;
  owner: Somebody;
  connection: string;
  close(): Promise<void>;
}

/** Where clients of these tests receive session tokens. */
export const REDIRECT = "http://client.test/back?tab=1";

/** A connection of an organization to a provider. */
export async function connect(
  app: TestApp,
  owner: Somebody,
  discoveryUrl: string,
  more: Record<string, unknown> = {},
): Promise<Answer> {
  return app.call("POST", `/api/admin/organizations/${owner.org}/oidc-connections`, {
    token: owner.token,
    body: {
      name: "Corporate",
      provider: "test",
      client_id: "atrium-client",
      client_secret: "a-client-secret",
      discovery_url: discoveryUrl,
      allowed_domains: ["corp.test"],
      redirect_uris: [REDIRECT],
      ...more,
    },
  });
}

/** A service, a provider, and an organization connected to it. */
export async function startRealm(options: AppOptions = {}): Promise<Realm> {
  const app = await startApp({ ...options, env: { SERVICE_OPEN_SIGNUP: "1", ...options.env } });
  const provider = await startHostileProvider(() => app.clock.now());
  const owner = await founder(app);
  const { status, body, text } = await connect(app, owner, provider.discoveryUrl);
  if (status !== 201) throw new Error(`the connection answered ${status}: ${text}`);
  return {
    app,
    provider,
    owner,
    connection: body.connection_uuid as string,
    async close() {
      await app.close();
      await provider.close();
    },
  };
}

/** A sign-in that a browser has begun. */
export interface Begun {
  url: string;
  cookie: string;
}

/** The first half of a sign-in. */
export async function begin(realm: Realm, query: Record<string, string> = {}, connection = realm.connection) {
  const search = new URLSearchParams(query).toString();
  const answer = await realm.app.call("GET", `/api/auth/oidc/${connection}/authorize?${search}`);
  if (answer.status !== 302) throw new Error(`authorize answered ${answer.status}: ${answer.text}`);
  const cookie = (answer.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
  return { url: answer.headers.get("location") ?? "", cookie, answer };
}

/** The provider's response to the browser: what it appends to the callback. */
export function granted(realm: Realm, { url }: Begun): Record<string, string> {
  const { code, params } = realm.provider.authorize(url);
  return { code, state: params.get("state") ?? "" };
}

/** The browser's way back. */
export function comeBack(
  realm: Realm,
  cookie: string,
  query: Record<string, string>,
  connection = realm.connection,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const path = `/api/auth/oidc/${connection}/callback?${new URLSearchParams(query).toString()}`;
  return realm.app.call("GET", path, { headers: { ...(cookie === "" ? {} : { cookie }), ...headers } });
}

/** A person of an admitted domain. */
export function subject(sub: string, more: Partial<Subject> = {}): Subject {
  return { sub, email: `${sub}@corp.test`, email_verified: true, ...more };
}

/** A whole sign-in up to the callback, as somebody. */
export async function callbackOf(realm: Realm, who: Subject, query: Record<string, string> = {}) {
  realm.provider.subject = who;
  const begun = await begin(realm, query);
  const answer = await comeBack(realm, begun.cookie, granted(realm, begun));
  return { ...begun, answer };
}

/** The session token of a redirect. */
export const sessionTokenOf = (answer: Answer): string =>
  new URL(answer.headers.get("location") ?? "http://none.test").searchParams.get("session_token") ?? "";

/** A whole sign-in, as somebody. */
export async function signIn(realm: Realm, who: Subject): Promise<Answer> {
  const { cookie, answer } = await callbackOf(realm, who);
  if (answer.status !== 302) return answer;
  return redeem(realm, sessionTokenOf(answer), cookie);
}

/** Exchanges a session token. */
export function redeem(realm: Realm, sessionToken: string, cookie: string, verifier?: string): Promise<Answer> {
  return realm.app.call("POST", "/api/auth/oidc/session", {
    body: { session_token: sessionToken, ...(verifier === undefined ? {} : { code_verifier: verifier }) },
    headers: cookie === "" ? {} : { cookie },
  });
}
