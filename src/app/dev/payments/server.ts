import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createActs } from "./acts.ts";
import type { Acts } from "./acts.ts";
import { createDelivery } from "./deliver.ts";
import { createLedger } from "./ledger.ts";
import type { Ledger } from "./ledger.ts";
import { createPaddleApi } from "./paddle-api.ts";
import { checkoutPage, messagePage, portalPage } from "./pages.ts";
import { createStripeApi } from "./stripe-api.ts";
import type { ApiCall } from "./stripe-api.ts";

/** Options of {@link startPaymentServer}. */
export interface PaymentServerOptions {
  /** Default: any free port of 127.0.0.1. */
  port?: number;
  /** URL of the service that gets the webhooks; undefined while it is not known. */
  service?: () => string | undefined;
  /** Signs the webhooks of both providers. */
  webhookSecret: string;
  /** Milliseconds since the epoch. */
  now?: () => number;
}

/** How the APIs behave: `broken` returns 500, `refusing` 403, `garbage` no JSON, `flooding` 10 MB of headers. */
export type Mode = "working" | "broken" | "refusing" | "garbage" | "flooding";

/** A server that speaks for both payment providers, for development and tests. */
export interface PaymentServer {
  url: string;
  mode: Mode;
  /** Whether webhooks are lost on their way. */
  losesWebhooks: boolean;
  calls: ApiCall[];
  ledger: Ledger;
  acts: Acts;
  /** Resolves when the webhooks that were sent have been accepted or given up. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** Starts the server. It keeps everything in memory: what was bought is forgotten when it stops. */
export async function startPaymentServer(options: PaymentServerOptions): Promise<PaymentServer> {
  const { now = Date.now } = options;
  const seconds = (): number => Math.floor(now() / 1000);
  const state: { mode: Mode; losesWebhooks: boolean } = { mode: "working", losesWebhooks: false };
  const calls: ApiCall[] = [];
  const ledger = createLedger();
  const delivery = createDelivery(options.service ?? (() => undefined), options.webhookSecret, seconds);
  const acts = createActs(ledger, seconds, (event) => {
    if (!state.losesWebhooks && options.service !== undefined) delivery.send(event);
  });
  let url = "";
  const stripe = createStripeApi(ledger, acts, seconds, () => url);
  const paddle = createPaddleApi(ledger, acts, () => url);

  function answerApi(request: IncomingMessage, response: ServerResponse, at: URL, text: string): void {
    const { authorization = "", "content-type": contentType = "", "idempotency-key": key } = request.headers;
    const call: ApiCall = {
      method: request.method ?? "",
      path: at.pathname,
      query: at.searchParams,
      text,
      contentType,
      authorization,
      idempotencyKey: typeof key === "string" ? key : undefined,
    };
    calls.push(call);
    if (state.mode === "garbage") return void response.writeHead(200).end("<html>".repeat(1_000));
    if (state.mode === "flooding") return void response.writeHead(200, { "x-flood": "x".repeat(10_000_000) }).end();
    const [status, body] =
      state.mode === "broken"
        ? [500, { error: { type: "api_error", code: "internal_error", detail: "broken", message: "broken" } }]
        : state.mode === "refusing"
          ? [403, { error: { type: "request_error", code: "forbidden", detail: "forbidden", message: "forbidden" } }]
          : (at.pathname.startsWith("/v1/") ? stripe : paddle)(call);
    response.writeHead(status, { "content-type": "application/json" }).end(status === 204 ? "" : JSON.stringify(body));
  }

  const html = (response: ServerResponse, status: number, page: string): void =>
    void response
      .writeHead(status, { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" })
      .end(page);
  const goTo = (response: ServerResponse, location: string): void => void response.writeHead(303, { location }).end();

  function answerCheckout(response: ServerResponse, id: string, act: string | null, wasDeclined: boolean): void {
    const checkout = ledger.checkouts.get(id);
    if (checkout === undefined)
      return html(response, 404, messagePage("No such checkout", "Ask for a new one.", false, null));
    if (checkout.status === "paid")
      return html(response, 200, messagePage("Paid", "This order is paid. Thank you.", true, checkout.successUrl));
    if (!acts.isOpen(checkout))
      return html(response, 410, messagePage("Too late", "This checkout has ended.", false, checkout.cancelUrl));
    if (act === "pay") {
      acts.pay(checkout);
      return checkout.successUrl === null ? goTo(response, `/pay/${id}`) : goTo(response, checkout.successUrl);
    }
    if (act === "decline") {
      acts.decline(checkout);
      return goTo(response, `/pay/${id}?declined=1`);
    }
    if (act === "leave") {
      if (checkout.cancelUrl !== null) return goTo(response, checkout.cancelUrl);
      return html(response, 200, messagePage("Nothing was paid", "You can close this page.", false, `/pay/${id}`));
    }
    return html(response, 200, checkoutPage(checkout, wasDeclined));
  }

  function answerPortal(response: ServerResponse, id: string, act: string | null): void {
    const portal = ledger.portals.get(id);
    if (portal === undefined)
      return html(response, 404, messagePage("No such session", "Open the portal again.", false, null));
    const own = [...ledger.subscriptions.values()].filter(({ customer }) => customer === portal.customer);
    const [verb, chosenId] = act?.split(" ") ?? [];
    const chosen = own.find((subscription) => subscription.id === chosenId && subscription.status !== "canceled");
    if (chosen !== undefined) {
      if (verb === "cancel") acts.cancel(chosen, "period");
      if (verb === "end") acts.cancel(chosen, "now");
      if (verb === "renew" || verb === "fail") acts.renew(chosen, verb === "renew");
    }
    const payments = ledger.payments.filter(({ customer }) => customer === portal.customer).toReversed();
    const paid = payments.find((payment) => payment.id === chosenId && payment.paid);
    if (paid !== undefined && verb === "refund") acts.refund(paid, paid.total);
    if (act !== null) return goTo(response, `/portal/${id}`);
    return html(response, 200, portalPage(own, payments, portal.provider, portal.returnUrl));
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString("utf8");
      const at = new URL(request.url ?? "/", "http://payments");
      const [, kind = "", id = ""] = at.pathname.split("/");
      const act = request.method === "POST" ? (new URLSearchParams(text).get("act") ?? "") : null;
      if (kind === "pay") answerCheckout(response, id, act, at.searchParams.has("declined"));
      else if (kind === "portal") answerPortal(response, id, act);
      else answerApi(request, response, at, text);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    calls,
    ledger,
    acts,
    get mode() {
      return state.mode;
    },
    set mode(mode) {
      state.mode = mode;
    },
    get losesWebhooks() {
      return state.losesWebhooks;
    },
    set losesWebhooks(loses) {
      state.losesWebhooks = loses;
    },
    settled: delivery.settled,
    close: () =>
      new Promise((resolve) => {
        delivery.stop();
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
