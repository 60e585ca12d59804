import { create } from "@bufbuild/protobuf";
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { useQuery } from "@connectrpc/connect-query";
import { BillingService } from "../../../../gen/atrium/billing/v1/billing_pb.ts";
import { UsageBucketSchema } from "../../../../gen/atrium/billing/v1/metering_pb.ts";
import type { Meter, Usage, UsageBucket } from "../../../../gen/atrium/billing/v1/metering_pb.ts";
import { Chart } from "../../widgets/Chart.tsx";
import { usePeriod } from "../../widgets/use-period.ts";

const DAY_MS = 86_400_000;

/** What a meter counted, by day. */
export function MeterChart({ meter }: { meter: Meter }) {
  const period = usePeriod();
  const usage = useQuery(BillingService.method.getUsage, { id: meter.id, from: period.from, group: "day" });
  return (
    <Chart
      title={meter.name}
      about={`${meter.aggregation} of ${meter.eventName} a day, in ${meter.unit}`}
      period={period}
      of={usage}
      buckets={everyDay}
      series={[{ label: meter.unit, colour: "accent", value: ({ value }) => value }]}
      total={meter.aggregation === "max" ? "max" : "sum"}
    />
  );
}

/** The usage of every day; the service leaves out days without any. */
function everyDay({ from, to, data }: Usage): UsageBucket[] {
  const known = new Map(data.map((bucket) => [Number(bucket.start?.seconds) * 1000, bucket]));
  const [start, end] = [from, to].map((at) => (at === undefined ? 0 : timestampDate(at).getTime()));
  const days: UsageBucket[] = [];
  for (let at = Math.floor((start ?? 0) / DAY_MS) * DAY_MS; at < (end ?? 0); at += DAY_MS)
    days.push(known.get(at) ?? create(UsageBucketSchema, { start: timestampFromDate(new Date(at)), value: 0 }));
  return days;
}
