import { randomBytes } from "node:crypto";
import { signDelivery } from "../../src/platform/outgoing/signature.ts";
import { startPublisher } from "../demo/publisher.ts";
import type { ProvisionCall, Publisher, PublisherReply } from "../demo/publisher.ts";
import { callRest } from "./app.ts";
import type { Answer, TestApp } from "./app.ts";
import { persistently } from "./persistently.ts";

/** A status of an install. */
export type InstallStatus = "provisioning" | "active" | "suspended" | "deprovisioning" | "deprovisioned";

/** An install as the single read shows it. */
export interface InstallBody {
  install_id: string;
  status: InstallStatus;
  endpoint_url: string | null;
  failure_reason: string | null;
  timeline: { at: string; event: string; detail: string | null; next_attempt_at?: string }[];
}

/** An organization of a publisher and one of a buyer, with the operations that tests need. */
export interface Market {
  /** Owner of Acme, who is platform admin too. */
  buyer: string;
  /** Owner of the organization that publishes. */
  publisher: string;
  /** A published and approved app whose publisher responds as the test says. */
  offer(answer: (call: ProvisionCall, nth: number) => PublisherReply | Promise<PublisherReply>): Promise<Offer>;
  read(installId: string): Promise<InstallBody>;
  /** Waits until the install is in this state and returns it. */
  until(installId: string, status: InstallStatus): Promise<InstallBody>;
  close(): Promise<void>;
}

/** An app of the market. */
export interface Offer {
  appId: string;
  slug: string;
  secret: string;
  server: Publisher;
  install(): Promise<Answer>;
  /** A report of the publisher, signed as the options say. */
  report(installId: string, body: unknown, options?: ReportOptions): Promise<Answer>;
}

/** How a report is signed; by default correctly, now, with both schemes. */
export interface ReportOptions {
  secret?: string;
  /** Seconds added to the current time. */
  skew?: number;
  /** Changes the headers before they are sent. */
  headers?: (signed: Record<string, string>) => Record<string, string>;
}

/** A new person with an organization of their own; the access token is valid for 420 s. */
export async function signUp(
  app: Pick<TestApp, "call">,
  name = `Org ${randomBytes(4).toString("hex")}`,
): Promise<{ token: string; orgUuid: string; userUuid: string }> {
  const email = `${randomBytes(6).toString("hex")}@people.test`;
  const { status, text, body } = await persistently(() =>
    app.call("POST", "/api/organizations", {
      body: { name, email, password: "correct horse battery", first_name: "Ada" },
    }),
  );
  if (status !== 201) throw new Error(`sign-up answered ${status}: ${text}`);
  return { token: body.access_token as string, orgUuid: body.org_uuid as string, userUuid: body.user_uuid as string };
}

/** The required fields of an app. */
export function draftOf(slug: string, webhook: string): Record<string, unknown> {
  return {
    name: "Orbit",
    slug,
    description: "Dashboards",
    deployment_modes: ["multi_tenant"],
    pricing_model: "seat",
    base_price_cents: 1900,
    currency: "usd",
    provision_webhook: webhook,
  };
}

/** Opens a market on a running service. */
export async function openMarket(app: TestApp): Promise<Market> {
  const buyer = await app.login();
  const { token: publisher } = await signUp(app);
  const servers: Publisher[] = [];

  async function offer(answer: Parameters<Market["offer"]>[0]): Promise<Offer> {
    const server = await startPublisher(answer);
    servers.push(server);
    const slug = `app-${randomBytes(6).toString("hex")}`;
    const made = await persistently(() =>
      app.call("POST", "/api/marketplace/apps", { token: publisher, body: draftOf(slug, server.url) }),
    );
    if (made.status !== 201) throw new Error(`publishing answered ${made.status}: ${made.text}`);
    const { app_id: appId, webhook_secret: secret } = made.body as { app_id: string; webhook_secret: string };
    server.useSecret(secret);
    const approved = await persistently(() =>
      app.call("POST", `/api/admin/marketplace/apps/${appId}/approve`, { token: buyer }),
    );
    if (approved.status !== 200) throw new Error(`approval answered ${approved.status}: ${approved.text}`);
    return {
      appId,
      slug,
      secret,
      server,
      install: () => app.call("POST", `/api/marketplace/${slug}/install`, { token: buyer, body: {} }),
      report: (installId, body, options = {}) => report(app.url, installId, body, { secret, ...options }),
    };
  }

  async function read(installId: string): Promise<InstallBody> {
    return (await persistently(() => app.call("GET", `/api/installs/${installId}`, { token: buyer })))
      .body as InstallBody;
  }

  return {
    buyer,
    publisher,
    offer,
    read,
    async until(installId, status) {
      let seen: InstallBody | undefined;
      for (
        const end = Date.now() + 120_000;
        Date.now() < end;
        await new Promise((resolve) => setTimeout(resolve, 20))
      ) {
        seen = await read(installId);
        if (seen.status === status) return seen;
      }
      throw new Error(`the install was never ${status}: ${JSON.stringify(seen)}`);
    },
    close: async () => void (await Promise.all(servers.map((server) => server.close()))),
  };
}

function report(
  url: string,
  installId: string,
  body: unknown,
  { secret = "", skew = 0, headers = (signed) => signed }: ReportOptions,
): Promise<Answer> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const signed = signDelivery({
    id: `msg_${randomBytes(6).toString("hex")}`,
    timestamp: Math.floor(Date.now() / 1000) + skew,
    body: text,
    secrets: [secret],
  });
  return callRest(url, "POST", `/api/marketplace/installs/${installId}/provisioning`, {
    body: text,
    headers: headers({ ...signed }),
  });
}
