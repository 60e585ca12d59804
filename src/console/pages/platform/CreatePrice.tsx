import { useQuery } from "@connectrpc/connect-query";
import { useEffect, useState } from "react";
import { BillingService } from "../../../../gen/atrium/billing/v1/billing_pb.ts";
import { CreatePriceRequestSchema } from "../../../../gen/atrium/billing/v1/pricing_pb.ts";
import { ShowAsCode, bodyOf } from "../../widgets/CodeSample.tsx";
import { Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { Field, FormBody, Input, Select } from "../../widgets/form/Field.tsx";
import { faultOf } from "../../widgets/form/rules.ts";
import { useForm } from "../../widgets/form/use-form.ts";
import { useCall } from "../../widgets/use-call.ts";
import style from "./Platform.module.css";
import { faultsOf, isTyped, numberIn, RegionPrices, regionPriceOf } from "./RegionPrices.tsx";
import type { RegionRow } from "./RegionPrices.tsx";

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
  const [regions, setRegions] = useState<readonly RegionRow[]>([]);
  const [attempts, setAttempts] = useState(0);
  const call = useCall(BillingService.method.createPrice, { done: "Price created" });
  const regionFault = Object.entries(call.failure?.fields ?? {}).find(([name]) => name.startsWith("regions"))?.[1];
  const taxPercent = numberIn(tax);
  const taxFault = faultOf(CreatePriceRequestSchema.field.taxPercent, taxPercent);
  const prices = regions.filter(isTyped).map(regionPriceOf);
  const isChanged = form.changed || tax !== "" || regions.length > 0;

  // The first field with an error gets the focus, as in the rest of the form.
  useEffect(() => {
    if (attempts > 0) form.element.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [attempts]);

  const send = form.submit(async ({ plan, ...values }) => {
    if (taxFault !== undefined || prices.some((price) => Object.keys(faultsOf(price)).length > 0)) return;
    const made = await call.run({
      ...values,
      ...(plan !== "" && { plan: String(plan) }),
      ...(taxPercent !== undefined && { taxPercent }),
      regions: prices,
    });
    if (made !== undefined) onClose();
  });
  return (
    <Dialog title="Create price" open wide dirty={isChanged} onClose={onClose}>
      <FormBody
        form={form}
        onSubmit={(event) => {
          setAttempts(attempts + 1);
          send(event);
        }}
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
            error={(attempts > 0 ? taxFault : undefined) ?? call.failure?.fields["tax_percent"]}
          />
        </div>
        <RegionPrices rows={regions} onChange={setRegions} isChecked={attempts > 0} fault={regionFault} />
        <ShowAsCode http="POST /api/admin/pricing/prices" body={bodyOf(form.values)} />
        <SubmitActions call={call} verb="Create" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}
