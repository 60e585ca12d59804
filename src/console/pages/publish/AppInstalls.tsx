import { useQuery } from "@connectrpc/connect-query";
import type { App } from "../../../../gen/atrium/marketplace/v1/marketplace_pb.ts";
import { PublisherService } from "../../../../gen/atrium/marketplace/v1/publisher_pb.ts";
import type { AppStatsItem } from "../../../../gen/atrium/marketplace/v1/statistics_pb.ts";
import { useMe } from "../../session/use-session.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button, ButtonLink } from "../../widgets/Button.tsx";
import { Chart } from "../../widgets/Chart.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Id } from "../../widgets/Copy.tsx";
import { Section } from "../../widgets/Page.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { alertToast } from "../../widgets/toasts.ts";
import { useCall } from "../../widgets/use-call.ts";
import { usePeriod } from "../../widgets/use-period.ts";
import { inWords } from "../../widgets/words.ts";

/** Name of a plan, as long as the app has it. */
const nameOf = ({ plans }: App, planId: string): string => plans.find((plan) => plan.planId === planId)?.name || planId;

const STATUSES = ["provisioning", "active", "suspended", "deprovisioning", "deprovisioned"];

/** What became of the installs of an app, and each of them. */
export function AppInstalls({ app }: { app: App }) {
  const { appId } = app;
  const me = useMe();
  const period = usePeriod(30);
  const stats = useQuery(PublisherService.method.getAppStats, { appId, from: period.from, bucket: "day" });
  const resume = useCall(PublisherService.method.resumeInstall, { done: "Install resumed", onFailure: alertToast });
  const suspend = useCall(PublisherService.method.suspendInstall, {
    done: `Install suspended: its organization cannot use ${app.name}, and is told so`,
    onFailure: alertToast,
    undo: ({ installId }) => void resume.run({ appId, installId: installId ?? "" }),
  });
  return (
    <>
      <Chart
        title="Install funnel"
        about={
          stats.data === undefined
            ? "Installs that were requested, and how their provisioning ended."
            : outcomeOf(stats.data.data)
        }
        period={period}
        of={stats}
        buckets={({ data }) => data}
        bars="overlaid"
        series={[
          { label: "Requested", colour: "accent", value: ({ requested }) => requested },
          { label: "Active", colour: "good", value: ({ active }) => active },
          { label: "Failed", colour: "bad", value: ({ failed }) => failed },
          { label: "Deprovisioned", colour: "warn", value: ({ deprovisioned }) => deprovisioned },
        ]}
      />
      <Section
        title="Installs"
        about="Organizations are shown by their ids; the calls about an install have the name of its organization."
      >
        <DataTable
          caption="Installs"
          things="installs"
          method={PublisherService.method.listAppInstalls}
          input={{ appId }}
          rowKey={({ installId }) => installId}
          filters={[{ name: "status", label: "Status", values: STATUSES.map((status) => [status, inWords(status)]) }]}
          columns={[
            {
              header: "Install",
              cell: ({ installId }) => <Id of={installId} what="install id" />,
              csv: ({ installId }) => installId,
            },
            {
              header: "Organization",
              cell: ({ orgUuid }) => (orgUuid === me.orgUuid ? me.orgName : <Id of={orgUuid} what="organization id" />),
              csv: ({ orgUuid }) => orgUuid,
            },
            { header: "Status", cell: ({ status }) => <Status of={status} />, csv: ({ status }) => status },
            { header: "Plan", cell: ({ planId }) => nameOf(app, planId), csv: ({ planId }) => planId },
            {
              header: "Seats",
              cell: ({ quantity }) => quantity.toLocaleString("en"),
              csv: ({ quantity }) => quantity,
              right: true,
            },
            { header: "Installed", sort: "created_at", time: ({ createdAt }) => createdAt },
          ]}
          actions={({ installId, status }) => (
            <>
              <ButtonLink small to="." search={{ tab: "provisioning", install: installId }}>
                Calls
              </ButtonLink>
              {status === "active" && (
                <Button small onClick={() => void suspend.run({ appId, installId })}>
                  Suspend
                </Button>
              )}
              {status === "suspended" && (
                <Button small onClick={() => void resume.run({ appId, installId })}>
                  Resume
                </Button>
              )}
            </>
          )}
          empty={{ text: "Nobody has installed it yet.", api: `POST /api/marketplace/${app.slug}/install` }}
          refetchMs={5_000}
        />
      </Section>
      <CodeSample http={`GET /api/marketplace/apps/${appId}/installs`} />
    </>
  );
}

/** `12 requested, 9 active (75 %), 2 failed (17 %), 1 deprovisioned.` */
function outcomeOf(buckets: readonly AppStatsItem[]): string {
  const sum = (name: "requested" | "active" | "failed" | "deprovisioned"): number =>
    buckets.reduce((all, bucket) => all + bucket[name], 0);
  const requested = sum("requested");
  const share = (count: number): string => (requested === 0 ? "" : ` (${Math.round((100 * count) / requested)} %)`);
  const [active, failed] = [sum("active"), sum("failed")];
  const ended = `${active} active${share(active)}, ${failed} failed${share(failed)}`;
  return `${requested} requested, ${ended}, ${sum("deprovisioned")} deprovisioned.`;
}
