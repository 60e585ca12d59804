import { BillingService } from "../../../../gen/atrium/billing/v1/billing_pb.ts";
import { Status } from "../../widgets/Badge.tsx";
import { ExternalLink } from "../../widgets/ExternalLink.tsx";
import { Section } from "../../widgets/Page.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { inWords } from "../../widgets/words.ts";
import { decimal, money } from "../apps/money.ts";

const STATUSES = ["paid", "failed", "refunded"];

/** Payments of the organization, with their invoices. */
export function Payments() {
  return (
    <Section title="Payments">
      <DataTable
        caption="Payments"
        things="payments"
        method={BillingService.method.listHistory}
        rowKey={({ id }) => String(id)}
        filters={[{ name: "status", label: "Status", values: STATUSES.map((status) => [status, inWords(status)]) }]}
        columns={[
          { header: "Date", sort: "created_at", time: ({ createdAt }) => createdAt },
          { header: "For", cell: ({ description }) => description ?? "–", csv: ({ description }) => description },
          {
            header: "Amount",
            cell: ({ amount, currency }) => money(amount, currency),
            csv: ({ amount, currency }) => decimal(amount, currency),
            right: true,
          },
          { header: "Currency", cell: ({ currency }) => currency.toUpperCase(), csv: ({ currency }) => currency },
          { header: "Status", cell: ({ status }) => <Status of={status} />, csv: ({ status }) => status },
          {
            header: "Invoice",
            cell: ({ invoiceUrl }) => <ExternalLink href={invoiceUrl} label="Invoice" />,
            csv: ({ invoiceId }) => invoiceId,
          },
        ]}
        empty={{ text: "Nothing was paid yet.", api: "GET /api/billing/history" }}
      />
    </Section>
  );
}
