import { PublisherService } from "../../../../gen/atrium/marketplace/v1/publisher_pb.ts";
import { Status } from "../../widgets/Badge.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Id } from "../../widgets/Copy.tsx";
import { Page } from "../../widgets/Page.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { inWords } from "../../widgets/words.ts";
import { PLAN_AND_SEATS } from "../installs/PlanName.tsx";
import { useOrganizationNames } from "./use-organization-names.tsx";

const STATUSES = ["provisioning", "active", "suspended", "deprovisioning", "deprovisioned"];

/** The installs of all organizations. */
export default function Installs() {
  const nameOf = useOrganizationNames();
  return (
    <Page title="All installs" about="The installs of every organization.">
      <DataTable
        caption="All installs"
        things="installs"
        method={PublisherService.method.listAllInstalls}
        rowKey={({ installId }) => installId}
        filters={[{ name: "status", label: "Status", values: STATUSES.map((status) => [status, inWords(status)]) }]}
        columns={[
          { header: "App", cell: ({ app }) => app?.name, csv: ({ app }) => app?.name },
          { header: "Organization", cell: ({ orgUuid }) => nameOf(orgUuid), csv: ({ orgUuid }) => orgUuid },
          { header: "Status", cell: ({ status }) => <Status of={status} />, csv: ({ status }) => status },
          ...PLAN_AND_SEATS,
          {
            header: "Install id",
            cell: ({ installId }) => <Id of={installId} what="install id" />,
            csv: ({ installId }) => installId,
          },
          { header: "Installed", sort: "created_at", time: ({ createdAt }) => createdAt },
        ]}
        empty={{ text: "No organization has installed an app yet.", api: "GET /api/admin/marketplace/installs" }}
        refetchMs={10_000}
      />
      <CodeSample http="GET /api/admin/marketplace/installs" />
    </Page>
  );
}
