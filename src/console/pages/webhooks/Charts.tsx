import { useQuery } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { WebhooksService } from "../../../../gen/atrium/webhooks/v1/webhooks_pb.ts";
import { Chart } from "../../widgets/Chart.tsx";
import { usePeriod } from "../../widgets/use-period.ts";

/** How many deliveries of a webhook arrived, and how long the endpoint took. */
export function Charts({ webhookId }: { webhookId: string }) {
  const period = usePeriod();
  const stats = useQuery(
    WebhooksService.method.getWebhookStats,
    { webhookId, from: period.from },
    { placeholderData: keepPreviousData, refetchInterval: 30_000 },
  );
  return (
    <>
      <Chart
        title="Success"
        about="Deliveries that arrived, and those that failed for good, by the day of their event."
        period={period}
        of={stats}
        buckets={({ data }) => data}
        series={[
          { label: "Delivered", colour: "good", value: ({ delivered }) => delivered },
          { label: "Failed", colour: "bad", value: ({ failed }) => failed },
        ]}
      />
      <Chart
        title="Latency"
        about="How long the endpoint took to answer."
        period={period}
        of={stats}
        buckets={({ data }) => data}
        bars="overlaid"
        unit="ms"
        series={[
          { label: "95th percentile", colour: "warn", value: ({ p95Ms }) => p95Ms },
          { label: "Median", colour: "accent", value: ({ p50Ms }) => p50Ms },
        ]}
      />
    </>
  );
}
