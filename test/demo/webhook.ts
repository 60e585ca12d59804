import { createServer } from "node:http";
import type { IncomingHttpHeaders } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createClient } from "@connectrpc/connect";
import type { Transport } from "@connectrpc/connect";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { Webhook } from "standardwebhooks";
import Stripe from "stripe";
import { WebhooksService } from "../../gen/atrium/webhooks/v1/webhooks_pb.ts";
import type { Delivery } from "../../gen/atrium/webhooks/v1/webhooks_pb.ts";

/** A receiver that fails at first, and its webhook. */
export interface FailingReceiver {
  /** Prints how the delivery of an event failed, recovered and arrived. */
  tellRecovery(number: number): Promise<void>;
  close(): Promise<void>;
}

const PATIENCE_MS = 120_000;

/** Registers a webhook for an event whose receiver returns 500 until it recovers. */
export async function startFailingReceiver(
  transport: Transport,
  event: string,
  say: (line: string) => void,
): Promise<FailingReceiver> {
  const client = createClient(WebhooksService, transport);
  const got: { headers: IncomingHttpHeaders; body: string }[] = [];
  let isBroken = true;
  const server = createServer((request, response) => {
    let body = "";
    request
      .setEncoding("utf8")
      .on("data", (part: string) => (body += part))
      .on("end", () => {
        got.push({ headers: request.headers, body });
        response
          .writeHead(isBroken ? 500 : 200, { "content-type": "text/plain" })
          .end(isBroken ? "our database is down" : "thank you");
      });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`;
  const { webhookId, secret = "" } = await client.createWebhook({ url, events: [event], scope: "org" });

  async function until(wanted: (delivery: Delivery) => boolean): Promise<Delivery> {
    for (
      const end = Date.now() + PATIENCE_MS;
      Date.now() < end;
      await new Promise((resolve) => setTimeout(resolve, 100))
    ) {
      const delivery = (await client.listDeliveries({ webhookId })).data[0];
      if (delivery !== undefined && wanted(delivery)) return delivery;
    }
    throw new Error(`the webhook's delivery was not settled after ${PATIENCE_MS / 1000} s`);
  }

  return {
    async tellRecovery(number) {
      const failed = await until(({ attempts }) => attempts.length > 0);
      const [first] = failed.attempts;
      say(`${number}. The webhook's receiver is broken: ${failed.eventType} is ${failed.status}`);
      say(`    ${clockTime(first?.at)}  attempt 1      ${first?.statusCode} ${first?.response}`);
      say(`    ${clockTime(failed.nextAttemptAt)}  the next one is due; the endpoint's workflow sleeps until then`);
      isBroken = false;
      say("    the receiver recovers");
      const { attempts, status, eventId } = await until((delivery) => delivery.status === "delivered");
      for (const [nth, attempt] of attempts.entries()) {
        if (nth > 0)
          say(`    ${clockTime(attempt.at)}  attempt ${nth + 1}      ${attempt.statusCode} ${attempt.response}`);
      }
      const last = got.at(-1);
      const ids = new Set(got.map(({ headers }) => headers["webhook-id"]));
      if (last === undefined || ids.size !== 1 || !ids.has(eventId))
        throw new Error("the attempts do not tell of one event");
      new Webhook(secret).verify(last.body, last.headers as Record<string, string>);
      Stripe.webhooks.constructEvent(last.body, String(last.headers["service-signature"]), secret);
      say(`    ${status}: ${got.length} posts with one webhook-id; standardwebhooks and stripe both verify it`);
    },
    async close() {
      await client.deleteWebhook({ webhookId });
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Time of day in UTC, to the tenth of a second. */
function clockTime(at: Timestamp | undefined): string {
  return at === undefined ? "" : timestampDate(at).toISOString().slice(11, 21);
}
