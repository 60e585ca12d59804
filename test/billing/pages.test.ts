import { expect, test } from "vitest";
import { billingWorld } from "./support.ts";

test("pages to return to lie below the public URL, with its path, or at an allowed origin", async () => {
  const { app, priceId, buyer, close } = await billingWorld({
    env: { SERVICE_BASE_URL: "https://id.example.com/atrium", SERVICE_CORS_ORIGINS: "https://app.example.com" },
  });
  try {
    const { token } = buyer;
    const quoted = await app.call("POST", "/api/pricing/quote", { token, body: { price_id: priceId } });
    const statuses = async (url: string) => {
      const body = { quote_id: quoted.body.quote_id, success_url: url, cancel_url: url };
      const checkout = await app.call("POST", "/api/pricing/checkout-session", { token, body });
      const portal = await app.call("POST", "/api/billing/portal-session", { token, body: { return_url: url } });
      return [checkout.status, portal.status];
    };
    for (const url of [
      "https://id.example.com/",
      "https://id.example.com/other",
      "https://id.example.com/atrium-other",
      "https://id.example.com/atrium/../other",
      "https://app.example.com:8443/paid",
      "http://localhost:8080/atrium",
    ])
      expect(await statuses(url), url).toEqual([400, 400]);
    const allowed = [
      "https://id.example.com/atrium",
      "https://id.example.com/atrium?paid",
      "https://id.example.com/atrium/console/billing",
      "https://app.example.com/paid",
    ];
    // A buyer without payments has no portal.
    for (const url of allowed) expect(await statuses(url), url).toEqual([200, 409]);
  } finally {
    await close();
  }
});
