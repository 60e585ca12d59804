import Stripe from "stripe";
import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { systemRandom } from "../../src/platform/random.ts";
import { newWebhookSecret, signDelivery } from "../../src/platform/outgoing/signature.ts";

// The receivers' recipes of the README, with the libraries receivers already have.
const secret = newWebhookSecret(systemRandom);
const body = JSON.stringify({ type: "install.active", timestamp: "2026-11-21T20:00:00.000Z", id: "evt_1", org_uuid: "o", data: { install_id: "i" } });
const signed = () => signDelivery({ id: "evt_1", timestamp: Math.floor(Date.now() / 1000), body, secrets: [newWebhookSecret(systemRandom), secret] });

test("standardwebhooks verifies a delivery, and refuses a changed one", () => {
  const headers = { ...signed() };
  expect(new Webhook(secret).verify(body, headers)).toMatchObject({ type: "install.active" });
  expect(() => new Webhook(secret).verify(body.replace("install_id", "install_ix"), headers)).toThrow();
});

test("stripe verifies the same delivery, and refuses a changed one", () => {
  const { "service-signature": signature } = signed();
  expect(Stripe.webhooks.constructEvent(body, signature, secret)).toMatchObject({ type: "install.active" });
  expect(() => Stripe.webhooks.constructEvent(body.replace("evt_1", "evt_2"), signature, secret)).toThrow();
});
