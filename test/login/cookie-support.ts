import { createHash } from "node:crypto";
import type { Answer, TestApp } from "../support/app.ts";

/** `SERVICE_BASE_URL` of the service under test. */
export const BASE = "http://atrium.test";
/** Name of its session cookie. */
export const COOKIE = `__Host-atrium-${createHash("sha256").update(BASE).digest("hex").slice(0, 8)}`;

/** Headers of a page of the service's own that keeps its session in the cookie. */
export const PAGE = { origin: BASE, "x-atrium-session": "cookie", "sec-fetch-site": "same-origin" };

/** The session cookie as a response sets it. */
export interface SetCookie {
  value: string;
  attributes: string[];
}

/** The session cookie that a response sets; undefined when it sets none. */
export function cookieOf({ headers }: Pick<Answer, "headers">): SetCookie | undefined {
  const set = headers.getSetCookie().filter((one) => one.startsWith(`${COOKIE}=`));
  if (set.length > 1) throw new Error("the cookie is set twice");
  const [pair = "", ...attributes] = set[0]?.split("; ") ?? [];
  return set.length === 0 ? undefined : { value: pair.slice(COOKIE.length + 1), attributes };
}

/** `Cookie` header with the session cookie. */
export const cookie = (value: string): { cookie: string } => ({ cookie: `${COOKIE}=${value}` });

/** A POST from a page in cookie mode. */
export function post(
  app: TestApp,
  path: string,
  body: unknown = {},
  { headers = {}, ...rest }: { token?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  return app.call("POST", path, { body, headers: { ...PAGE, ...headers }, ...rest });
}

/** Signs in by password in cookie mode. */
export async function signIn(
  app: TestApp,
  headers: Record<string, string> = {},
): Promise<{ answer: Answer; token: string; value: string }> {
  const { email, password, org } = app.owner;
  const answer = await post(app, "/api/auth/login", { email, password, org_name: org }, { headers });
  return { answer, token: answer.body.access_token as string, value: cookieOf(answer)?.value ?? "" };
}

/** Renews the session of a cookie. */
export const refresh = (app: TestApp, value: string, headers: Record<string, string> = {}): Promise<Answer> =>
  post(app, "/api/auth/refresh", {}, { headers: { ...cookie(value), ...headers } });
