/**
 * Receives the events of an organization, each once.
 *
 * WEBHOOK_SECRETS  secrets of the webhook, with commas; both while a secret is rotated
 * PORT             default: a free port
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { verifyWebhook, WebhookRefusal } from "@atrium/client/webhooks";
import type { WebhookEvent } from "@atrium/client/webhooks";

const secrets = (process.env["WEBHOOK_SECRETS"] ?? "").split(",");
/** A real receiver keeps the ids in its database, in the transaction of what it does. */
const seen = new Set<string>();

function handle(event: WebhookEvent): void {
  switch (event.type) {
    case "user.created":
      console.log(`${event.data.user_uuid} joined as ${event.data.role ?? "a member"}`);
      break;
    case "install.active":
      console.log(`${event.data.app_id} is installed`);
      break;
    default:
      // Types that this receiver has no use for, and those that a later service adds.
      console.log(event.type);
  }
}

const server = createServer((request, response) => {
  void (async () => {
    try {
      // The signature covers the raw bytes: verify before parsing.
      const event = verifyWebhook({ secrets, body: await buffer(request), headers: request.headers });
      if (!seen.has(event.id)) handle(event);
      seen.add(event.id);
      response.writeHead(204).end();
    } catch (error) {
      response.writeHead(error instanceof WebhookRefusal ? error.status : 500).end();
    }
  })();
});
server.listen(Number(process.env["PORT"] ?? 0), "127.0.0.1", () => {
  console.log(`Listening on ${(server.address() as AddressInfo).port}`);
});
