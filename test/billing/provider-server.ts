import { createServer } from "node:http";
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

/** A call that the fake provider received. */
export interface ProviderCall {
  method: string;
  path: string;
  /** Form fields for Stripe, JSON for Paddle. */
  body: Record<string, unknown>;
  headers: IncomingMessage["headers"];
}

/** A server that speaks the part of the APIs of Stripe and Paddle that the service uses, and checks what it is sent. */
export interface ProviderServer {
  url: string;
  calls: ProviderCall[];
  /** `broken` answers 500, `silent` never. */
  mode: "working" | "broken";
  close(): Promise<void>;
}

/** Starts the server on loopback. */
export async function startProviderServer(): Promise<ProviderServer> {
  const calls: ProviderCall[] = [];
  const state: { mode: ProviderServer["mode"] } = { mode: "working" };
  /** Answers of Stripe by Idempotency-Key. */
  const answered = new Map<string, object>();
  let nth = 0;

  function respond({ method, path, body, headers }: ProviderCall): [number, object] {
    if (state.mode === "broken") return [500, { error: { type: "api_error", message: "broken" } }];
    const key = headers["idempotency-key"];
    const known = typeof key === "string" ? answered.get(key) : undefined;
    if (known !== undefined) return [200, known];
    const answer = make(method, path, body);
    if (typeof key === "string" && answer[0] === 200) answered.set(key, answer[1]);
    return answer;
  }

  function make(method: string, path: string, body: Record<string, unknown>): [number, object] {
    nth++;
    if (path === "/v1/checkout/sessions") {
      if (body["line_items[0][price_data][unit_amount]"] === undefined)
        return [400, { error: { type: "invalid_request_error", message: "line_items" } }];
      return [200, { id: `cs_${nth}`, object: "checkout.session", url: `https://checkout.test/cs_${nth}` }];
    }
    if (path === "/v1/customers") return [200, { id: `cus_${nth}`, object: "customer" }];
    const attach = /^\/v1\/payment_methods\/([\w-]+)\/attach$/u.exec(path);
    if (attach !== null) {
      if (attach[1] === "pm_declined")
        return [402, { error: { type: "card_error", code: "card_declined", message: "declined" } }];
      if (attach[1] === "pm_unknown")
        return [404, { error: { type: "invalid_request_error", code: "resource_missing", message: "none" } }];
      return [
        200,
        {
          id: attach[1],
          object: "payment_method",
          card: { brand: "visa", last4: "4242", exp_month: 12, exp_year: 2031 },
        },
      ];
    }
    if (/^\/v1\/payment_methods\/[\w-]+\/detach$/u.test(path)) return [200, { id: "pm", object: "payment_method" }];
    if (/^\/v1\/subscriptions\/[\w-]+$/u.test(path)) return [200, { id: "sub", object: "subscription" }];
    if (path === "/transactions" && method === "POST") {
      const id = `txn_${String(nth).padStart(26, "0")}`;
      const data = { id, status: "ready", items: [], payments: [], checkout: { url: `https://checkout.test/${id}` } };
      return [201, { data, meta: { request_id: "r" } }];
    }
    return [404, { error: { type: "invalid_request_error", message: `no route ${method} ${path}` } }];
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString("utf8");
      const isJson = (request.headers["content-type"] ?? "").includes("json");
      const body = isJson
        ? (JSON.parse(text || "{}") as Record<string, unknown>)
        : Object.fromEntries(new URLSearchParams(text));
      const path = new URL(request.url ?? "/", "http://provider.test").pathname;
      const call = { method: request.method ?? "", path, body, headers: request.headers };
      calls.push(call);
      const [status, answer] = respond(call);
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    get mode() {
      return state.mode;
    },
    set mode(mode) {
      state.mode = mode;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
