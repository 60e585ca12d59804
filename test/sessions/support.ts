import { randomUUID } from "node:crypto";
import { decodeJwt } from "jose";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, member, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

/** A session as a client holds it. */
export interface Held {
  token: string;
  refreshToken: string;
  sid: string;
  device: string;
}

/** Signs a person in on a device. */
export async function signIn(
  app: TestApp,
  who: Pick<Somebody, "email" | "orgName">,
  device: string = randomUUID(),
): Promise<Held> {
  const answer = await app.call("POST", "/api/auth/login", {
    body: { email: who.email, password, org_name: who.orgName },
    headers: { "x-device-uuid": device },
  });
  if (answer.status !== 200) throw new Error(`login answered ${answer.status}`);
  return held(answer.body, device);
}

/** The session of a response with tokens. */
export function held(body: { access_token: string; refresh_token: string }, device: string): Held {
  return {
    token: body.access_token,
    refreshToken: body.refresh_token,
    sid: String(decodeJwt(body.access_token)["sid"]),
    device,
  };
}

/** Whether a token opens anything. */
export async function works(app: TestApp, token: string): Promise<boolean> {
  const { status } = await app.call("GET", "/api/auth/me", { token });
  if (status !== 200 && status !== 401) throw new Error(`/api/auth/me answered ${status}`);
  return status === 200;
}

/** A service with the owner of an organization, a member of it, and the owner of another one. */
export async function startWithPeople(): Promise<{ app: TestApp; boss: Somebody; ann: Somebody; bob: Somebody }> {
  const app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1", SERVICE_MAGIC_LINK_DEV_ECHO: "1" } });
  const boss = await founder(app);
  return { app, boss, ann: await member(app, boss), bob: await founder(app) };
}
