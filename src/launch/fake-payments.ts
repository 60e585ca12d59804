import { randomBytes } from "node:crypto";
import { openDataFolder } from "../app/dev/data-folder.ts";
import { startPaymentServer } from "../app/dev/payments/server.ts";
import type { PaymentServer } from "../app/dev/payments/server.ts";
import { rememberedPort } from "../app/dev/ports.ts";
import type { Config } from "../platform/config.ts";
import { StartError } from "../platform/start-error.ts";

/** The payment server of a development start, and the configuration that uses it. */
export interface FakePayments {
  config: Config;
  server: PaymentServer;
}

/**
 * Starts the payment server of development in place of Stripe and Paddle, on the port that it had last time.
 * @param service URL of this service, once it listens
 * @throws StartError in production, and when a real provider is configured
 */
export async function startFakePayments(config: Config, service: () => string | undefined): Promise<FakePayments> {
  if (!config.development) throw new StartError("Production takes real payments; start without --fake-payments.");
  if (config.stripe !== undefined || config.paddle !== undefined)
    throw new StartError("--fake-payments stands for both providers; unset SERVICE_STRIPE_* and SERVICE_PADDLE_*.");
  const webhookSecret = `whsec_${randomBytes(24).toString("hex")}`;
  const port = await rememberedPort(openDataFolder(config.dataDir), "payments");
  const server = await startPaymentServer({ port, service, webhookSecret });
  const account = { webhookSecret, apiBase: server.url };
  return {
    config: { ...config, stripe: { ...account, apiKey: "sk_test_fake" }, paddle: { ...account, apiKey: "pdl_fake" } },
    server,
  };
}
