import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { useQuery } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import type { UseQueryResult } from "@tanstack/react-query";
import { AuthEventsService } from "../../../../gen/atrium/auth_events/v1/auth_events_pb.ts";
import { BillingService } from "../../../../gen/atrium/billing/v1/billing_pb.ts";
import type { Meter } from "../../../../gen/atrium/billing/v1/metering_pb.ts";
import { WebhooksService } from "../../../../gen/atrium/webhooks/v1/webhooks_pb.ts";
import { useOrg } from "../../session/use-session.ts";
import { Chart } from "../../widgets/Chart.tsx";
import { Section } from "../../widgets/Page.tsx";
import { Failed } from "../../widgets/States.tsx";
import { usePeriod } from "../../widgets/use-period.ts";
import { KeyOverlap } from "./KeyOverlap.tsx";
import { OwnApps } from "./OwnApps.tsx";
import style from "./Overview.module.css";
import { useMergedDays } from "./use-merged.ts";
import type { Day } from "./use-merged.ts";

const DAY_MS = 86_400_000;
/** Events that end a sign-in: a second factor is a step of one of them. */
const SIGN_INS = ["login.password", "login.magic_link", "login.oidc"];
/** Webhooks whose deliveries are added up, and meters that are drawn. */
const MOST_WEBHOOKS = 10;
const MOST_METERS = 2;
const DELIVERIES = "Webhook success";

/** What happened in the organization, day by day. */
export default function Charts() {
  return (
    <div className={style["grid"]}>
      <SignIns />
      <Webhooks />
      <Meters />
      <OwnApps />
      <KeyOverlap />
    </div>
  );
}

const counted = (counts: Record<string, number>, start: Timestamp | undefined): Day => ({ start, counts });

function SignIns() {
  const orgUuid = useOrg();
  const period = usePeriod();
  const days = useMergedDays(
    AuthEventsService.method.getAuditStats,
    SIGN_INS.map((type) => ({ orgUuid, from: period.from, type })),
    ({ data }) => data.map(({ start, success, failure }) => counted({ success, failure }, start)),
  );
  return (
    <Chart
      title="Sign-ins"
      period={period}
      of={days}
      buckets={(all) => all}
      series={[
        { label: "Success", colour: "good", value: ({ counts }) => counts["success"] },
        { label: "Failure", colour: "bad", value: ({ counts }) => counts["failure"] },
      ]}
    />
  );
}

/** Nothing in an organization without webhooks. */
function Webhooks() {
  const webhooks = useQuery(WebhooksService.method.listWebhooks, { limit: MOST_WEBHOOKS });
  const { data, error } = webhooks;
  if (data === undefined) return error && <Unread title={DELIVERIES} of={webhooks} />;
  const ids = data.data.map(({ webhookId }) => webhookId);
  return ids.length > 0 && <Deliveries webhookIds={ids} of={data.total} />;
}

/** Nothing in an organization without meters. */
function Meters() {
  const meters = useQuery(BillingService.method.listMeters, { limit: MOST_METERS });
  const { data, error } = meters;
  if (data === undefined) return error && <Unread title="Meters" of={meters} />;
  return data.data.map((meter) => <Usage key={meter.id} meter={meter} />);
}

/** A card of things whose list cannot be read. */
function Unread({ title, of }: { title: string; of: UseQueryResult<unknown, unknown> }) {
  return (
    <Section title={title}>
      <Failed error={of.error} retry={() => void of.refetch()} />
    </Section>
  );
}

function Deliveries({ webhookIds, of }: { webhookIds: readonly string[]; of: number }) {
  const period = usePeriod();
  const days = useMergedDays(
    WebhooksService.method.getWebhookStats,
    webhookIds.map((webhookId) => ({ webhookId, from: period.from })),
    ({ data }) => data.map(({ start, delivered, failed }) => counted({ delivered, failed }, start)),
  );
  return (
    <Chart
      title={DELIVERIES}
      {...(of > webhookIds.length && { about: `Of ${webhookIds.length} of ${of.toLocaleString("en")} webhooks.` })}
      period={period}
      of={days}
      buckets={(all) => all}
      series={[
        { label: "Delivered", colour: "good", value: ({ counts }) => counts["delivered"] },
        { label: "Failed", colour: "bad", value: ({ counts }) => counts["failed"] },
      ]}
    />
  );
}

function Usage({ meter }: { meter: Meter }) {
  const period = usePeriod();
  const usage = useQuery(
    BillingService.method.getUsage,
    { id: meter.id, from: period.from, group: "day" },
    { placeholderData: keepPreviousData },
  );
  return (
    <Chart
      title={meter.name}
      period={period}
      of={usage}
      buckets={({ data }) => everyDay(data, period.from, period.days)}
      series={[{ label: meter.unit || meter.eventName, colour: "accent", value: ({ value }) => value }]}
      total={meter.aggregation === "max" ? "max" : "sum"}
    />
  );
}

/** The service leaves out days without events. */
function everyDay(
  data: readonly { start?: Timestamp | undefined; value: number }[],
  from: string,
  days: number,
): { start: Timestamp; value: number }[] {
  const values = new Map(data.map(({ start, value }) => [start === undefined ? 0 : timestampMs(start), value]));
  return Array.from({ length: days }, (_, nth) => {
    const at = Date.parse(from) + nth * DAY_MS;
    return { start: timestampFromMs(at), value: values.get(at) ?? 0 };
  });
}
