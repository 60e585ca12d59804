import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { WebhooksService } from "../../../gen/atrium/webhooks/v1/webhooks_pb.ts";
import type { RequestContexts } from "../../platform/context.ts";
import { pageOf } from "../../platform/db/paging.ts";
import type { DeliveryRow } from "./delivery-store.ts";
import type { WebhookRow } from "./store.ts";
import type { Webhooks } from "./webhooks.ts";

/** Implements `atrium.webhooks.v1.WebhooksService`. */
export function webhooksRpc(
  { registration, deliveries }: Pick<Webhooks, "registration" | "deliveries">,
  contexts: RequestContexts,
): ServiceImpl<typeof WebhooksService> {
  return {
    async createWebhook({ url, events, scope, appId }, call) {
      const { webhook, secret } = await registration.create(contexts.authenticated(call), {
        url,
        events,
        scope: scope === "app" ? "app" : "org",
        appId: appId?.toLowerCase(),
      });
      return { ...printWebhook(webhook), secret };
    },
    async listWebhooks(request, call) {
      const page = pageOf(request);
      const { webhooks, ...total } = await registration.list(contexts.authenticated(call), page);
      return { data: webhooks.map(printWebhook), ...total, ...page };
    },
    getWebhook: async ({ webhookId }, call) =>
      printWebhook(await registration.read(contexts.authenticated(call), webhookId)),
    updateWebhook: async ({ webhookId, url, events, status }, call) =>
      printWebhook(
        await registration.update(contexts.authenticated(call), webhookId, {
          url,
          events: events.length > 0 ? events : undefined,
          status: status as "enabled" | "disabled" | undefined,
        }),
      ),
    async deleteWebhook({ webhookId }, call) {
      await registration.remove(contexts.authenticated(call), webhookId);
      return {};
    },
    async listDeliveries(request, call) {
      const page = pageOf(request);
      const status = request.status as DeliveryRow["status"] | undefined;
      const context = contexts.authenticated(call);
      const { rows, ...total } = await deliveries.list(context, request.webhookId, status, page);
      return { data: rows.map(printDelivery), ...total, ...page };
    },
    redeliver: async ({ webhookId, deliveryId }, call) =>
      printDelivery(await deliveries.redeliver(contexts.authenticated(call), webhookId, deliveryId)),
    testWebhook: async ({ webhookId }, call) => ({
      deliveryId: await deliveries.test(contexts.authenticated(call), webhookId),
    }),
  };
}

function printWebhook(webhook: WebhookRow) {
  return {
    webhookId: webhook.webhookId,
    url: webhook.url,
    events: webhook.events,
    scope: webhook.scope,
    ...(webhook.appId ? { appId: webhook.appId } : {}),
    status: webhook.status,
    createdAt: timestampFromDate(webhook.createdAt),
  };
}

function printDelivery(row: DeliveryRow) {
  return {
    deliveryId: row.deliveryId,
    eventId: row.eventId,
    eventType: row.eventType,
    status: row.status,
    attempts: row.attempts.map((attempt) => ({
      at: timestampFromDate(new Date(attempt.at)),
      ...(attempt.status_code === null ? {} : { statusCode: attempt.status_code }),
      ...(attempt.error === null ? {} : { error: attempt.error }),
      durationMs: attempt.duration_ms,
      ...(attempt.response === null ? {} : { response: attempt.response }),
    })),
    ...(row.nextAttemptAt === null ? {} : { nextAttemptAt: timestampFromDate(row.nextAttemptAt) }),
    createdAt: timestampFromDate(row.createdAt),
  };
}
