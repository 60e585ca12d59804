import { ConnectError, createClient } from "@connectrpc/connect";
import { createRemoteJWKSet, jwtVerify } from "jose";
import { AccessService } from "../../gen/atrium/access/v1/access_pb.ts";
import { BillingService } from "../../gen/atrium/billing/v1/billing_pb.ts";
import { TemplatesService } from "../../gen/atrium/templates/v1/templates_pb.ts";
import { eventually } from "./tour.ts";
import type { Tour } from "./tour.ts";

const FEATURE = "orbital-maps";
const money = (cents: number, currency: string): string =>
  new Intl.NumberFormat("en", { style: "currency", currency }).format(cents / 100);

/** A quote is paid, by which the buyer may do more. */
async function tourPurchase({
  baseUrl,
  orgUuid,
  orgName,
  ownerToken,
  platformToken,
  signIn,
  mark,
  connect,
  say,
}: Tour) {
  const platform = createClient(BillingService, connect(platformToken));
  const buyer = createClient(BillingService, connect(ownerToken));
  const access = createClient(AccessService, connect(ownerToken));
  const plan = `observatory-${mark}`;
  await platform.setPlan({ plan, name: "Observatory", features: [FEATURE] });
  const price = {
    product: "Observatory",
    plan,
    interval: "month",
    currency: "usd",
    unitAmountCents: 1900,
    taxPercent: 19,
  };
  const { priceId } = await platform.createPrice(price);
  const check = { feature: FEATURE, orgUuid };
  const [before] = (await access.checkEntitlements({ checks: [check] })).data;
  say(`26. ${orgName} may not use ${FEATURE} (${before?.reason}); the plan Observatory has it`);

  const quote = await buyer.createQuote({ priceId, seats: 3 });
  const keys = createRemoteJWKSet(new URL(`${baseUrl}/api/organizations/${orgUuid}/.well-known/jwks.json`));
  const { payload } = await jwtVerify(quote.token, keys);
  const total = money(quote.totalCents, quote.currency);
  say(`27. A quote for 3 seats: ${total} with tax; jose verifies it offline: ${String(payload["total_cents"])} cents`);

  const opened = await buyer
    .createCheckoutSession({ quoteId: quote.quoteId, provider: "stripe" })
    .catch((error: unknown) => ConnectError.from(error));
  if (opened instanceof ConnectError) {
    if (!opened.rawMessage.includes("provider")) throw opened;
    return say("28. No payment provider is configured: start with npm start -- --fake-payments to pay");
  }
  if (new URL(opened.url ?? "").hostname !== "127.0.0.1")
    return say(`28. Pay at ${opened.url}: the demo pays simulated checkouts alone`);
  const decide = (act: string): Promise<Response> =>
    fetch(opened.url ?? "", { method: "POST", body: new URLSearchParams({ act }), redirect: "manual" });
  await decide("decline");
  const unpaid = await buyer.listSubscriptions({});
  say(`28. On the provider's page the card is declined: ${unpaid.total} subscriptions`);
  await decide("pay");
  const paid = await eventually("the payment", async () => (await buyer.listSubscriptions({})).data[0]);
  say(`    then it is paid; by the provider's webhook the subscription is ${paid.status}, ${paid.seats} seats`);
  const entitled = createClient(AccessService, connect(await signIn()));
  const [after] = (await entitled.checkEntitlements({ checks: [check] })).data;
  if (after?.granted !== true) throw new Error(`the feature is not granted: ${after?.reason}`);
  say(`    ${orgName} may use ${FEATURE} with the next token: ${after.reason}`);
}

/** Usage is metered, and a document is rendered. */
async function tourContent({ ownerToken, mark, connect, say }: Tour): Promise<void> {
  const billing = createClient(BillingService, connect(ownerToken));
  const eventName = `images-${mark}`;
  const meter = await billing.createMeter({ name: "Images", eventName, unit: "image", aggregation: "sum" });
  const events = Array.from({ length: 1_000 }, (_, nth) => ({ id: `${mark}-${nth}`, eventName, value: 0.1 }));
  const first = await billing.recordEvents({ events });
  const second = await billing.recordEvents({ events });
  // Usage reaches until before now.
  const usage = await eventually("the usage", async () => {
    const read = await billing.getUsage({ id: meter.id, group: "day" });
    return read.value > 0 ? read : undefined;
  });
  say(
    `29. 1,000 events of 0.1 are reported twice: ${first.accepted} count, then ${second.accepted}; used ${usage.value}`,
  );

  const { html } = await createClient(TemplatesService, connect(ownerToken)).generateCv({
    personal: { fullName: "Ada <script>alert(1)</script> Lovelace", title: "Analyst", email: `ada+${mark}@orbit.test` },
    experience: [{ company: "Analytical Engines", role: "Analyst", start: "1842", end: "1843" }],
    skills: ["Bernoulli numbers"],
  });
  if (html.includes("<script>")) throw new Error("a value became markup");
  say(`30. A curriculum vitae is rendered: ${html.length} characters of HTML, and <script> in a name stays text`);
}

/** Money and content. */
export async function tourBilling(tour: Tour): Promise<void> {
  await tourPurchase(tour);
  await tourContent(tour);
}
