import type { RequestSpec } from "../load/requests.ts";

/** The small POST that both servers handle: an app is published, nothing is stored. */
export const postApp: RequestSpec = {
  method: "POST",
  path: "/api/marketplace/apps",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({
    name: "Invoices",
    slug: "invoices",
    description: "Writes, sends and files invoices.",
    deployment_modes: ["multi_tenant", "single_tenant"],
    pricing_model: "seat",
    base_price_cents: 1200,
    currency: "eur",
    provision_webhook: "https://invoices.example.com/hooks/provision",
    plans: [{ plan_id: "team", name: "Team", price_cents: 1200 }],
  }),
};

/** The response to it, with the status 201. */
export function published(slug: string) {
  return {
    app_id: "0198f5e0-4c1b-7a52-9d3c-0b8a3c9a7f10",
    slug,
    status: "draft",
    webhook_secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  };
}
