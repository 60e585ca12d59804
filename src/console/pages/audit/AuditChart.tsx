import { useQuery } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { AuthEventsService } from "../../../../gen/atrium/auth_events/v1/auth_events_pb.ts";
import { useOrg } from "../../session/use-session.ts";
import { Chart } from "../../widgets/Chart.tsx";
import { usePeriod } from "../../widgets/use-period.ts";

/** Events a day, of the type that the list is narrowed to. */
export function AuditChart({ type }: { type?: string | undefined }) {
  const orgUuid = useOrg();
  const period = usePeriod();
  const stats = useQuery(
    AuthEventsService.method.getAuditStats,
    { orgUuid, from: period.from, ...(type !== undefined && { type }) },
    { placeholderData: keepPreviousData },
  );
  return (
    <Chart
      title="Events a day"
      period={period}
      of={stats}
      buckets={({ data }) => data}
      series={[
        { label: "Success", colour: "good", value: ({ success }) => success },
        { label: "Failure", colour: "bad", value: ({ failure }) => failure },
      ]}
    />
  );
}
