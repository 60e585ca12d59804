import type { ServiceImpl } from "@connectrpc/connect";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { CredentialsService } from "../../../gen/atrium/credentials/v1/credentials_pb.ts";
import { WebhooksService } from "../../../gen/atrium/webhooks/v1/webhooks_pb.ts";
import { caller, requestInfo } from "../../platform/caller.ts";
import { pageOf } from "../../platform/db/paging.ts";
import { registration } from "../../platform/rpc.ts";
import type { ServiceRegistration } from "../../platform/rpc.ts";
import type { Webhooks } from "./index.ts";
import type { DeliveryRow } from "./delivery-store.ts";
import type { WebhookRow } from "./store.ts";

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
    deliveryId: row.delivery_id,
    eventId: row.event_id,
    eventType: row.event_type,
    status: row.status,
    attempts: row.attempts.map((attempt) => ({
      at: timestampFromDate(new Date(attempt.at)),
      ...(attempt.status_code === null ? {} : { statusCode: attempt.status_code }),
      ...(attempt.error === null ? {} : { error: attempt.error }),
      durationMs: attempt.duration_ms,
      ...(attempt.response === null ? {} : { response: attempt.response }),
    })),
    ...(row.next_attempt_at === null ? {} : { nextAttemptAt: timestampFromDate(row.next_attempt_at) }),
    createdAt: timestampFromDate(row.created_at),
  };
}

/** Webhooks over the wire. */
export function webhooksRpc({ registration: endpoints, deliveries }: Webhooks): ServiceRegistration {
  return registration(WebhooksService, {
    async createWebhook(request, context) {
      const { url, events, scope, appId } = request;
      const { webhook, secret } = await endpoints.create(caller(context), requestInfo(context), {
        url,
        events,
        scope: scope === "app" ? "app" : "org",
        appId: appId?.toLowerCase(),
      });
      return { ...printWebhook(webhook), secret };
    },
    async listWebhooks(request, context) {
      const page = pageOf(request);
      const { webhooks, ...total } = await endpoints.list(caller(context), page);
      return { data: webhooks.map(printWebhook), ...total, ...page };
    },
    getWebhook: async ({ webhookId }, context) => printWebhook(await endpoints.read(caller(context), webhookId)),
    updateWebhook: async ({ webhookId, url, events, status }, context) =>
      printWebhook(
        await endpoints.update(caller(context), requestInfo(context), webhookId, {
          url,
          events: events.length > 0 ? events : undefined,
          status: status as "enabled" | "disabled" | undefined,
        }),
      ),
    async deleteWebhook({ webhookId }, context) {
      await endpoints.remove(caller(context), requestInfo(context), webhookId);
      return {};
    },
    async listDeliveries(request, context) {
      const page = pageOf(request);
      const { rows, ...total } = await deliveries.list(
        caller(context),
        request.webhookId,
        request.status as DeliveryRow["status"] | undefined,
        page,
      );
      return { data: rows.map(printDelivery), ...total, ...page };
    },
    redeliver: async ({ webhookId, deliveryId }, context) =>
      printDelivery(await deliveries.redeliver(caller(context), webhookId, deliveryId)),
    testWebhook: async ({ webhookId }, context) => ({ deliveryId: await deliveries.test(caller(context), webhookId) }),
  });
}

/** Rotation of a webhook's secret, which the contract counts among the credentials. */
export function webhookSecretRpc({
  registration: endpoints,
}: Webhooks): Pick<ServiceImpl<typeof CredentialsService>, "rotateWebhookSecret"> {
  return {
    async rotateWebhookSecret({ webhookId }, context) {
      const { secret, oldSecretExpiresAt } = await endpoints.rotateSecret(
        caller(context),
        requestInfo(context),
        webhookId,
      );
      return { newSecret: secret, oldSecretExpiresAt: timestampFromDate(oldSecretExpiresAt) };
    },
  };
}
