import { useState } from "react";
import type { App } from "../../../../gen/atrium/marketplace/v1/marketplace_pb.ts";
import { PublisherService } from "../../../../gen/atrium/marketplace/v1/publisher_pb.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { FormBody, Input } from "../../widgets/form/Field.tsx";
import { FailureNotice } from "../../widgets/Notice.tsx";
import { Page } from "../../widgets/Page.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { inWords } from "../../widgets/words.ts";
import { money } from "../apps/money.ts";

const STATUSES = ["draft", "published", "rejected", "archived"];

/** Apps that wait for approval, and what became of the others. */
export default function Approvals() {
  const [rejected, setRejected] = useState<App>();
  const approve = useCall(PublisherService.method.approveApp, { done: "App approved" });
  return (
    <Page title="Approvals" about="Apps are offered in the marketplace once they are approved.">
      {approve.failure !== undefined && <FailureNotice failure={approve.failure} />}
      <DataTable
        caption="Apps"
        things="apps"
        method={PublisherService.method.listAllApps}
        rowKey={({ appId }) => appId}
        filters={[{ name: "status", label: "Status", values: STATUSES.map((status) => [status, inWords(status)]) }]}
        columns={[
          { header: "App", sort: "name", cell: ({ name }) => name, csv: ({ name }) => name },
          { header: "Slug", cell: ({ slug }) => <code>{slug}</code>, csv: ({ slug }) => slug },
          { header: "Publisher", cell: ({ publisher }) => publisher?.name, csv: ({ publisher }) => publisher?.name },
          { header: "From", cell: ({ basePriceCents, currency }) => money(basePriceCents, currency), right: true },
          { header: "Status", cell: ({ status }) => <Status of={status} />, csv: ({ status }) => status },
        ]}
        actions={(app) =>
          app.status === "draft" && (
            <>
              <Button small title={app.name} onClick={() => void approve.run({ appId: app.appId })}>
                Approve
              </Button>
              <Button small title={app.name} onClick={() => setRejected(app)}>
                Reject
              </Button>
            </>
          )
        }
        empty={{ text: "Nothing waits for approval.", api: "GET /api/admin/marketplace/apps" }}
      />
      {rejected !== undefined && <Reject key={rejected.appId} app={rejected} onClose={() => setRejected(undefined)} />}
    </Page>
  );
}

function Reject({ app: { appId, name }, onClose }: { app: App; onClose: () => void }) {
  const [reason, setReason] = useState("");
  const reject = useCall(PublisherService.method.rejectApp, { done: "App rejected" });
  return (
    <Dialog title={`Reject ${name}`} open dirty={reason !== ""} onClose={onClose}>
      <FormBody
        onSubmit={(event) => {
          event.preventDefault();
          void reject.run({ appId, ...(reason !== "" && { reason }) }).then((done) => done && onClose());
        }}
      >
        <Input label="Reason" value={reason} onChange={setReason} />
        <SubmitActions call={reject} verb="Reject" look="danger" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}
