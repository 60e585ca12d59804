import { useState } from "react";
import { BillingService } from "../../../../gen/atrium/billing/v1/billing_pb.ts";
import { ReconcilePaymentsRequestSchema } from "../../../../gen/atrium/billing/v1/operations_pb.ts";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Id } from "../../widgets/Copy.tsx";
import { Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { FormBody, Input, Select } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { Notice } from "../../widgets/Notice.tsx";
import { Page } from "../../widgets/Page.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { inWords } from "../../widgets/words.ts";
import { decimal, money } from "../apps/money.ts";

/** Payments that granted nothing, and the search for events that never came. */
export default function Payments() {
  const [asking, setAsking] = useState(false);
  const [workflow, setWorkflow] = useState<string>();
  return (
    <Page
      title="Unmatched payments"
      about="Payments that granted nothing: of no purchase, or not of the quoted sum. And refunds of no purchase."
      actions={<Button onClick={() => setAsking(true)}>Reconcile</Button>}
    >
      {workflow !== undefined && (
        <Notice kind="good">
          Reconciliation started: workflow <Id of={workflow} what="workflow id" />
        </Notice>
      )}
      <DataTable
        caption="Unmatched payments"
        things="payments"
        method={BillingService.method.listUnmatchedPayments}
        rowKey={({ eventId }) => eventId}
        columns={[
          { header: "Provider", cell: ({ provider }) => inWords(provider), csv: ({ provider }) => provider },
          {
            header: "Event",
            cell: ({ eventId }) => <Id of={eventId} what="event id" />,
            csv: ({ eventId }) => eventId,
          },
          { header: "Type", cell: ({ type }) => <code>{type}</code>, csv: ({ type }) => type },
          {
            header: "Amount",
            cell: ({ amount, currency }) => money(amount, currency),
            csv: ({ amount, currency }) => decimal(amount, currency),
            right: true,
          },
          { header: "Currency", cell: ({ currency }) => currency.toUpperCase(), csv: ({ currency }) => currency },
          { header: "Reason", cell: ({ reason }) => inWords(reason), csv: ({ reason }) => reason },
          { header: "Received", time: ({ receivedAt }) => receivedAt },
        ]}
        empty={{ text: "Every payment is matched.", api: "GET /api/operator/billing/unmatched" }}
        refetchMs={10_000}
      />
      <CodeSample http="POST /api/operator/billing/reconcile" body={{}} />
      {asking && <Reconcile onClose={() => setAsking(false)} onStarted={setWorkflow} />}
    </Page>
  );
}

const DAY_MS = 86_400_000;

/** The end of a day, in UTC; none where it lies ahead: the service takes the present then. */
function endOf(day: string): { to?: string } {
  const end = Date.parse(day) + DAY_MS;
  return end < Date.now() ? { to: new Date(end).toISOString() } : {};
}

function Reconcile({ onClose, onStarted }: { onClose: () => void; onStarted: (workflow: string) => void }) {
  const form = useForm(ReconcilePaymentsRequestSchema, { provider: "", from: "", to: "" });
  const call = useCall(BillingService.method.reconcilePayments, { done: "Reconciliation started" });
  const day = (name: "from" | "to", label: string, hint: string) => (
    <Input
      label={label}
      type="date"
      value={String(form.values[name])}
      onChange={(value) => form.set({ [name]: value })}
      hint={hint}
      error={form.errors[name] ?? call.failure?.fields[name]}
    />
  );
  return (
    <Dialog
      title="Reconcile payments"
      about="Asks the providers for events that never came, and applies them. Nothing counts twice."
      open
      dirty={form.changed}
      onClose={onClose}
    >
      <FormBody
        form={form}
        onSubmit={form.submit(async (values) => {
          const { to = "", ...others } = values;
          const given = Object.fromEntries(Object.entries(others).filter(([, value]) => value !== ""));
          const started = await call.run({ ...given, ...(to !== "" && endOf(to)) });
          if (started === undefined) return;
          onStarted(started.workflowId);
          onClose();
        })}
      >
        <Select
          label="Provider"
          value={String(form.values.provider)}
          onChange={(provider) => form.set({ provider })}
          options={[
            ["", "All that are configured"],
            ["stripe", "Stripe"],
            ["paddle", "Paddle"],
          ]}
        />
        {day("from", "From", "Three days before the end when it is empty")}
        {day("to", "To", "This day included; now when it is empty")}
        <SubmitActions call={call} verb="Reconcile" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}
