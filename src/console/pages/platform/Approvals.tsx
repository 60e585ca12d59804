import { useState } from "react";
import type { App } from "../../../../gen/atrium/marketplace/v1/marketplace_pb.ts";
import { PublisherService } from "../../../../gen/atrium/marketplace/v1/publisher_pb.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { FormBody, Input } from "../../widgets/form/Field.tsx";
import { Facts, Page } from "../../widgets/Page.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { inWords } from "../../widgets/words.ts";
import { decimal, money, per } from "../apps/money.ts";

/** What became of those that wait no more. */
const STATUSES = ["published", "rejected", "archived"];

/** Apps that wait for approval, and what became of the others. */
export default function Approvals() {
  const [rejected, setRejected] = useState<App>();
  const [reviewed, setReviewed] = useState<App>();
  return (
    <Page title="Approvals" about="Apps are offered in the marketplace once they are approved.">
      <DataTable
        caption="Apps"
        things="apps"
        method={PublisherService.method.listAllApps}
        rowKey={({ appId }) => appId}
        input={{ status: "draft" }}
        filters={[
          {
            name: "status",
            label: "Status",
            unset: "waiting",
            values: STATUSES.map((status) => [status, inWords(status)]),
          },
        ]}
        columns={[
          { header: "App", sort: "name", cell: ({ name }) => name, csv: ({ name }) => name },
          { header: "Slug", cell: ({ slug }) => <code>{slug}</code>, csv: ({ slug }) => slug },
          { header: "Publisher", cell: ({ publisher }) => publisher?.name, csv: ({ publisher }) => publisher?.name },
          {
            header: "From",
            cell: ({ basePriceCents, currency }) => money(basePriceCents, currency),
            csv: ({ basePriceCents, currency }) => `${decimal(basePriceCents, currency)} ${currency.toUpperCase()}`,
            right: true,
          },
          { header: "Status", cell: ({ status }) => <Status of={status} />, csv: ({ status }) => status },
        ]}
        actions={(app) =>
          app.status === "draft" && (
            <>
              <Button small title={app.name} onClick={() => setReviewed(app)}>
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
      {reviewed !== undefined && <Review key={reviewed.appId} app={reviewed} onClose={() => setReviewed(undefined)} />}
      {rejected !== undefined && <Reject key={rejected.appId} app={rejected} onClose={() => setRejected(undefined)} />}
    </Page>
  );
}

/** What the marketplace will show of an app, before it is approved. */
function Review({ app, onClose }: { app: App; onClose: () => void }) {
  const approve = useCall(PublisherService.method.approveApp, { done: "App approved" });
  const { currency } = app;
  const plans = app.plans.map(
    ({ name, priceCents, interval }) => `${name}: ${money(priceCents, currency)} ${per(interval)}`,
  );
  return (
    <Dialog title={`Approve ${app.name}`} about="This is what the marketplace will offer." open wide onClose={onClose}>
      <FormBody
        onSubmit={(event) => {
          event.preventDefault();
          void approve.run({ appId: app.appId }).then((done) => done && onClose());
        }}
      >
        <Facts>
          {[
            ["Slug", <code key="slug">{app.slug}</code>],
            ["Publisher", app.publisher?.name],
            ["Description", app.description],
            ["Pricing", inWords(app.pricingModel)],
            ["From", money(app.basePriceCents, currency)],
            ["Plans", plans.join(", ") || "None"],
            ["Deployment", app.deploymentModes.map(inWords).join(", ")],
            app.provisionWebhook !== undefined && ["Provision webhook", <code key="url">{app.provisionWebhook}</code>],
          ]}
        </Facts>
        <SubmitActions call={approve} verb="Approve" onCancel={onClose} />
      </FormBody>
    </Dialog>
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
