import { WebhooksService } from "../../../gen/atrium/webhooks/v1/webhooks_pb.ts";
import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import { registration } from "../../platform/rpc.ts";
import { signalOn } from "../../platform/temporal/workflows.ts";
import type { WorkflowKind } from "../../platform/temporal/workflows.ts";
import type { Access } from "../access/index.ts";
import { WEBHOOK_RETRY } from "../event-catalogue/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { Organizations } from "../organizations/index.ts";
import { webhookEntities } from "./entities.ts";
import { webhooksRpc } from "./rpc.ts";
import { createWebhooks } from "./webhooks.ts";
import { SEALED } from "./sealed.ts";

/** Retries the open deliveries of an endpoint. */
const RETRY_DELIVERIES: WorkflowKind = { type: "retryDeliveries", prefix: "webhook-retries" };

/** Outgoing webhooks: endpoints, deliveries, retries. */
export const webhooksDomain = defineDomain(
  "webhooks",
  ({
    eventCatalogue: events,
    config: { timing, ttl },
    workflows,
    contexts,
    ...below
  }: Ground & { eventCatalogue: Events; organizations: Organizations; access: Access }) => {
    const webhooks = createWebhooks({
      ...below,
      events,
      config: {
        schedule: timing.webhookScheduleMs,
        timeoutMs: timing.webhookTimeoutMs,
        secretOverlapMs: ttl.secretOverlapMs,
      },
    });
    const retry = { idMember: "webhook_id", signal: "deliveries-changed", concurrency: 8 };
    return {
      ...webhooks,
      services: [registration(WebhooksService, webhooksRpc(webhooks, contexts))],
      topics: {
        [WEBHOOK_RETRY]: {
          ...signalOn(workflows, RETRY_DELIVERIES, retry),
          // One run of the endpoint's workflow finds everything due by then.
          coalescingKey: (payload: Record<string, unknown>) => String(payload[retry.idMember]),
        },
      },
      recoveries: {
        webhookRetries: { list: webhooks.waiting, start: (id: string) => workflows.start(RETRY_DELIVERIES, id) },
      },
    };
  },
  { entities: webhookEntities, sealed: SEALED },
);
