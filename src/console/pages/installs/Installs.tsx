import { Link } from "@tanstack/react-router";
import { BuyerService } from "../../../../gen/atrium/marketplace/v1/buyer_pb.ts";
import { Status } from "../../widgets/Badge.tsx";
import { ButtonLink } from "../../widgets/Button.tsx";
import { Page } from "../../widgets/Page.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { inWords } from "../../widgets/words.ts";
import { PLAN_AND_SEATS } from "./PlanName.tsx";

const STATUSES = ["provisioning", "active", "suspended", "deprovisioning", "deprovisioned"];

/** The apps that the organization has installed. */
export default function Installs() {
  return (
    <Page title="Installs" about="Apps that this organization has installed, and how each stands.">
      <DataTable
        caption="Installs"
        things="installs"
        method={BuyerService.method.listInstalls}
        rowKey={({ installId }) => installId}
        filters={[{ name: "status", label: "Status", values: STATUSES.map((status) => [status, inWords(status)]) }]}
        columns={[
          {
            header: "App",
            cell: ({ installId, app }) => <Link to={`/console/installs/${installId}`}>{app?.name}</Link>,
            csv: ({ app }) => app?.name,
          },
          { header: "Status", cell: ({ status }) => <Status of={status} />, csv: ({ status }) => status },
          ...PLAN_AND_SEATS,
          { header: "Period ends", time: ({ currentPeriodEnd }) => currentPeriodEnd, none: "–" },
          { header: "Installed", sort: "created_at", time: ({ createdAt }) => createdAt },
        ]}
        empty={{
          text: "No app is installed yet. The marketplace has apps to install.",
          action: <ButtonLink to="/console/apps">Open the marketplace</ButtonLink>,
          api: "POST /api/marketplace/{slug}/install",
        }}
        refetchMs={10_000}
      />
    </Page>
  );
}
