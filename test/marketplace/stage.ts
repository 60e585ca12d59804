import { randomBytes } from "node:crypto";
import type { Answer, TestApp } from "../support/app.ts";
import { draftOf } from "../support/market.ts";

/** An app as publication answers it. */
export interface PublishedApp {
  appId: string;
  slug: string;
  secret: string;
}

/** A path of an app's own. */
export const appPath = (appId: string, rest = ""): string => `/api/marketplace/apps/${appId}${rest}`;

/** The body of an answer that has to be a success. */
export function must(answer: Answer): Answer["body"] {
  if (answer.status >= 300) throw new Error(`answered ${answer.status}: ${answer.text}`);
  return answer.body;
}

/** A new token by a refresh, with what was granted meanwhile. */
export async function refreshed(app: Pick<TestApp, "call">, who: { refreshToken: string }): Promise<string> {
  const body = must(await app.call("POST", "/api/auth/refresh", { body: { refresh_token: who.refreshToken } }));
  who.refreshToken = body.refresh_token as string;
  return body.access_token as string;
}

/** Publishes an app; approved when a platform admin's token is given. */
export async function publish(
  app: Pick<TestApp, "call">,
  token: string,
  more: Record<string, unknown> = {},
  approvedBy?: string,
): Promise<PublishedApp> {
  const slug = `app-${randomBytes(6).toString("hex")}`;
  const body = must(
    await app.call("POST", "/api/marketplace/apps", {
      token,
      body: { ...draftOf(slug, "http://127.0.0.1:9/provision"), ...more },
    }),
  );
  if (approvedBy !== undefined)
    must(await app.call("POST", `/api/admin/marketplace/apps/${body.app_id}/approve`, { token: approvedBy }));
  return { appId: body.app_id, slug: body.slug, secret: body.webhook_secret };
}

/** Installs a new app of a platform admin for themselves; without a worker the install waits for its publisher. */
export async function waitingInstall(app: Pick<TestApp, "call">, token: string): Promise<string> {
  const { slug } = await publish(app, token, {}, token);
  const install = await app.call("POST", `/api/marketplace/${slug}/install`, { token, body: { quantity: 1 } });
  return must(install).install_id as string;
}
