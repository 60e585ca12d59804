import { useState } from "react";
import type { CloudTarget } from "../../../../gen/atrium/marketplace/v1/platform_pb.ts";
import { PublisherService } from "../../../../gen/atrium/marketplace/v1/publisher_pb.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Id } from "../../widgets/Copy.tsx";
import { Confirm } from "../../widgets/Dialog.tsx";
import { Page } from "../../widgets/Page.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { useOrganizationNames } from "./use-organization-names.tsx";

const nameOf = ({ provider, region }: CloudTarget): string => `${provider} ${region}`;

/** Where single-tenant installs run. */
export default function CloudTargets() {
  const organizationOf = useOrganizationNames();
  const [asked, setAsked] = useState<CloudTarget>();
  const revoke = useCall(PublisherService.method.revokeCloudTarget, { done: "Cloud target revoked" });
  return (
    <Page title="Cloud targets" about="Where single-tenant installs run, as their publishers reported.">
      <DataTable
        caption="Cloud targets"
        things="cloud targets"
        method={PublisherService.method.listCloudTargets}
        rowKey={({ targetId }) => targetId}
        filters={[
          {
            name: "status",
            label: "Status",
            values: [
              ["active", "Active"],
              ["revoked", "Revoked"],
            ],
          },
        ]}
        columns={[
          { header: "Provider", cell: ({ provider }) => provider, csv: ({ provider }) => provider },
          { header: "Region", cell: ({ region }) => region, csv: ({ region }) => region },
          { header: "Organization", cell: ({ orgUuid }) => organizationOf(orgUuid), csv: ({ orgUuid }) => orgUuid },
          {
            header: "Install",
            cell: ({ installId }) => <Id of={installId} what="install id" />,
            csv: ({ installId }) => installId,
          },
          { header: "Status", cell: ({ status }) => <Status of={status} />, csv: ({ status }) => status },
          { header: "Reported", sort: "created_at", time: ({ createdAt }) => createdAt },
        ]}
        actions={(target) =>
          target.status === "active" && (
            <Button small title={nameOf(target)} onClick={() => setAsked(target)}>
              Revoke
            </Button>
          )
        }
        empty={{ text: "No single-tenant install has reported where it runs.", api: "GET /api/admin/cloud-targets" }}
      />
      <CodeSample http="GET /api/admin/cloud-targets" />
      <Confirm
        title={`Revoke ${asked === undefined ? "the cloud target" : nameOf(asked)}?`}
        about="Its install is taken down: everybody in that organization loses the app."
        verb="Revoke"
        typed={asked === undefined ? undefined : nameOf(asked)}
        open={asked !== undefined}
        call={revoke}
        onCancel={() => setAsked(undefined)}
        onConfirm={() =>
          void revoke.run({ targetId: asked?.targetId ?? "" }).then((done) => done && setAsked(undefined))
        }
      />
    </Page>
  );
}
