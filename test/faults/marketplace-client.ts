import { randomBytes } from "node:crypto";
import type { Answer } from "../support/app.ts";
import { draftOf } from "../support/market.ts";
import type { StubbornClient } from "./client.ts";

/** The body of a response that must be a success. */
export function must({ status, text, body }: Answer): Answer["body"] {
  if (status >= 300) throw new Error(`answered ${status}: ${text}`);
  return body;
}

/** Setup of a market; every request is repeated until it has a response. */
export function marketplaceClient(client: StubbornClient) {
  const login = async (email: string, password: string, org: string): Promise<string> =>
    must(await client.call("POST", "/api/auth/login", undefined, { email, password, org_name: org }))
      .access_token as string;
  return {
    login,
    /** A person with an organization of their own, signed in. */
    async newcomer(): Promise<string> {
      const [name, email, password] = [
        `Org ${randomBytes(5).toString("hex")}`,
        `${randomBytes(6).toString("hex")}@people.test`,
        "correct horse battery",
      ];
      must(await client.call("POST", "/api/organizations", undefined, { name, email, password, first_name: "Ada" }));
      return login(email, password, name);
    },
    /** An app that is published and approved. */
    async publish(seller: string, platform: string, webhook: string): Promise<{ slug: string; secret: string }> {
      const slug = `app-${randomBytes(6).toString("hex")}`;
      const made = must(await client.call("POST", "/api/marketplace/apps", seller, draftOf(slug, webhook)));
      must(await client.call("POST", `/api/admin/marketplace/apps/${made.app_id}/approve`, platform, {}));
      return { slug, secret: made.webhook_secret as string };
    },
    /** A webhook for these events. */
    async listen(
      token: string,
      url: string,
      events: readonly string[],
    ): Promise<{ webhookId: string; secret: string }> {
      const made = must(await client.call("POST", "/api/v2/webhooks", token, { url, events }));
      return { webhookId: made.webhook_id as string, secret: made.secret as string };
    },
  };
}
