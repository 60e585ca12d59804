import { create } from "@bufbuild/protobuf";
import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { BillingService } from "../../../../gen/atrium/billing/v1/billing_pb.ts";
import { CreatePriceRequestSchema, RegionPriceSchema } from "../../../../gen/atrium/billing/v1/pricing_pb.ts";
import { Button } from "../../widgets/Button.tsx";
import { ShowAsCode, bodyOf } from "../../widgets/CodeSample.tsx";
import { Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { Field, FormBody, Input, Select } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { useCall } from "../../widgets/use-call.ts";
import style from "./Platform.module.css";

const REGION = { region: "", currency: "", amount: "", tax: "" };

const LABELS = { region: "Region", currency: "Currency", amount: "Minor units", tax: "Tax in percent" } as const;

/** Makes a price, with prices of its own for regions. */
export function CreatePrice({ onClose }: { onClose: () => void }) {
  const plans = useQuery(BillingService.method.listPlans, {});
  const form = useForm(CreatePriceRequestSchema, {
    product: "",
    plan: "",
    interval: "month",
    currency: "usd",
    unitAmountCents: 0,
  });
  const [tax, setTax] = useState("");
  const [regions, setRegions] = useState<(typeof REGION)[]>([]);
  const call = useCall(BillingService.method.createPrice, { done: "Price created" });
  const regionFault = Object.entries(call.failure?.fields ?? {}).find(([name]) => name.startsWith("regions"))?.[1];
  return (
    <Dialog title="Create price" open wide dirty={form.changed || regions.length > 0} onClose={onClose}>
      <FormBody
        form={form}
        onSubmit={form.submit(async ({ plan, ...values }) => {
          const made = await call.run({
            ...values,
            ...(plan !== "" && { plan: String(plan) }),
            ...(tax !== "" && { taxPercent: Number(tax) }),
            regions: regions.map((one) =>
              create(RegionPriceSchema, {
                region: one.region.toUpperCase(),
                currency: one.currency.toLowerCase(),
                unitAmountCents: Number(one.amount),
                ...(one.tax !== "" && { taxPercent: Number(one.tax) }),
              }),
            ),
          });
          if (made !== undefined) onClose();
        })}
      >
        <div className={style["fields"]}>
          <Field form={form} name="product" />
          <Select
            label="Plan"
            value={String(form.values.plan)}
            onChange={(plan) => form.set({ plan })}
            options={[
              ["", "None"],
              ...(plans.data?.data ?? []).map(({ plan, name }) => [plan, `${name} (${plan})`] as const),
            ]}
          />
          <Select
            label="Interval"
            value={String(form.values.interval)}
            onChange={(interval) => form.set({ interval })}
            options={[
              ["month", "Month"],
              ["year", "Year"],
              ["once", "Once"],
            ]}
          />
          <Field form={form} name="currency" hint="ISO 4217 in small letters: usd" />
          <Field form={form} name="unitAmountCents" hint="Of a seat, in minor units: 900 is 9.00" />
          <Input
            label="Tax percent"
            value={tax}
            onChange={setTax}
            inputMode="decimal"
            error={call.failure?.fields["tax_percent"]}
          />
        </div>
        <fieldset className={style["regions"]}>
          <legend>Prices of regions</legend>
          {regions.map((row, at) => (
            <div key={at} className={style["fields"]}>
              {Object.entries(LABELS).map(([name, label]) => (
                <Input
                  key={name}
                  label={`${label} of row ${at + 1}`}
                  value={row[name as keyof typeof REGION]}
                  onChange={(value) =>
                    setRegions(regions.map((one, nth) => (nth === at ? { ...one, [name]: value } : one)))
                  }
                  autoComplete="off"
                />
              ))}
            </div>
          ))}
          {regionFault !== undefined && <p role="alert">{regionFault}</p>}
          <div>
            <Button small onClick={() => setRegions([...regions, REGION])}>
              Add region
            </Button>
          </div>
        </fieldset>
        <ShowAsCode http="POST /api/admin/pricing/prices" body={bodyOf(form.values)} />
        <SubmitActions call={call} verb="Create" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}
