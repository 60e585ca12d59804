import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { WebhooksService } from "../../../gen/atrium/webhooks/v1/webhooks_pb.ts";
import type { RequestContexts } from "../../platform/context.ts";
import { pageOf } from "../../platform/db/paging.ts";
import { printStatistics } from "../../platform/statistics.ts";
import { sendHeadKey } from "../../transcoding/index.ts";
import type { DeliveryRow } from "./delivery-store.ts";
import type { DeliveryCounts } from "./stats-store.ts";
import type { WebhookRow } from "./store.ts";
import type { Webhooks } from "./webhooks.ts";

/** Implements `atrium.webhooks.v1.WebhooksService`. */
export function webhooksRpc(
  {
    registration,
    deliveries,
    statistics,
    watch,
  }: Pick<Webhooks, "registration" | "deliveries" | "statistics" | "watch">,
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
      const { rows, ...total } = await registration.list(contexts.authenticated(call), page);
      return { data: rows.map(printWebhook), ...total, ...page };
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
    async getWebhookStats(request, call) {
      const { range, rows } = await statistics.stats(contexts.authenticated(call), request.webhookId, request);
      return printStatistics<Partial<DeliveryCounts>>(range, rows, { delivered: 0, failed: 0 });
    },
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
    async getDelivery({ webhookId, deliveryId }, call) {
      const { request, ...delivery } = await deliveries.read(contexts.authenticated(call), webhookId, deliveryId);
      return { ...printDelivery(delivery), request };
    },
    async *watchDeliveries({ webhookId }, call) {
      const ready = call.values.get(sendHeadKey);
      for await (const row of watch(contexts.authenticated(call), webhookId, call.signal, ready))
        yield printDelivery(row);
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
