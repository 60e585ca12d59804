import { useState } from "react";
import { BillingService } from "../../../../gen/atrium/billing/v1/billing_pb.ts";
import type { Price } from "../../../../gen/atrium/billing/v1/pricing_pb.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Confirm } from "../../widgets/Dialog.tsx";
import { Page } from "../../widgets/Page.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { inWords, plural } from "../../widgets/words.ts";
import { decimal, money, per } from "../apps/money.ts";
import { usePlanNames } from "../billing/use-plan-names.ts";
import { CreatePrice } from "./CreatePrice.tsx";

const KEPT = "Open quotes and present subscriptions keep it.";

/** Tells a price from others of its product. */
const describe = ({ product, unitAmountCents, currency, interval }: Price, plan: string | undefined): string =>
  `${product}${plan === undefined ? "" : `, plan ${plan}`}, ${money(unitAmountCents, currency)} ${per(interval)}`;

/** Prices of plans and products; one is never changed, only replaced. */
export default function Prices() {
  const planOf = usePlanNames();
  const [creating, setCreating] = useState(false);
  const [asked, setAsked] = useState<Price>();
  const deactivate = useCall(BillingService.method.deactivatePrice, { done: "Price deactivated" });
  return (
    <Page
      title="Prices"
      about="A price is never changed: make another one and deactivate the old."
      actions={
        <Button look="primary" data-create onClick={() => setCreating(true)}>
          Create price
        </Button>
      }
    >
      <DataTable
        caption="Prices"
        things="prices"
        method={BillingService.method.listPrices}
        rowKey={({ priceId }) => String(priceId)}
        filters={[
          {
            name: "active",
            label: "Active",
            values: [
              ["true", "Yes"],
              ["false", "No"],
            ],
          },
        ]}
        columns={[
          { header: "Id", cell: ({ priceId }) => priceId, csv: ({ priceId }) => priceId, right: true },
          { header: "Product", cell: ({ product }) => product, csv: ({ product }) => product },
          { header: "Plan", cell: ({ plan }) => (plan === undefined ? "–" : planOf(plan)), csv: ({ plan }) => plan },
          {
            header: "Price",
            cell: ({ unitAmountCents, currency }) => money(unitAmountCents, currency),
            csv: ({ unitAmountCents, currency }) => decimal(unitAmountCents, currency),
            right: true,
          },
          { header: "Currency", cell: ({ currency }) => currency.toUpperCase(), csv: ({ currency }) => currency },
          { header: "Interval", cell: ({ interval }) => inWords(interval), csv: ({ interval }) => interval },
          {
            header: "Tax",
            cell: ({ taxPercent }) => (taxPercent === undefined ? "–" : `${taxPercent} %`),
            csv: ({ taxPercent }) => taxPercent,
            right: true,
          },
          {
            header: "Regions",
            cell: ({ regions }) => (
              <span title={regions.map(({ region, currency }) => `${region} ${currency}`).join(", ")}>
                {regions.length === 0 ? "–" : plural(regions.length, "region")}
              </span>
            ),
            csv: ({ regions }) => regions.map(({ region, currency }) => `${region} ${currency}`).join(", "),
          },
          {
            header: "Status",
            cell: ({ active }) => <Status of={active ? "active" : "inactive"} />,
            csv: ({ active }) => (active ? "active" : "inactive"),
          },
          { header: "Created", sort: "created_at", time: ({ createdAt }) => createdAt },
        ]}
        actions={(price) =>
          price.active && (
            <Button small title={price.product} onClick={() => setAsked(price)}>
              Deactivate
            </Button>
          )
        }
        empty={{ text: "There is no price yet.", api: "POST /api/admin/pricing/prices" }}
      />
      <CodeSample http="GET /api/pricing/prices" />
      {creating && <CreatePrice onClose={() => setCreating(false)} />}
      <Confirm
        title={`Deactivate ${asked?.product ?? "the price"}?`}
        about={asked && `${describe(asked, asked.plan && planOf(asked.plan))}: nobody can quote it any more. ${KEPT}`}
        verb="Deactivate"
        open={asked !== undefined}
        call={deactivate}
        onCancel={() => setAsked(undefined)}
        onConfirm={() =>
          void deactivate.run({ priceId: asked?.priceId ?? 0 }).then((done) => done && setAsked(undefined))
        }
      />
    </Page>
  );
}
