import { useQuery } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { BillingService } from "../../../../gen/atrium/billing/v1/billing_pb.ts";
import { CreateQuoteRequestSchema } from "../../../../gen/atrium/billing/v1/pricing_pb.ts";
import type { Price, Quote } from "../../../../gen/atrium/billing/v1/pricing_pb.ts";
import { failureOf } from "../../session/failures.ts";
import { ShowAsCode, bodyOf } from "../../widgets/CodeSample.tsx";
import { Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { Field, FormBody, Select } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { FailureNotice } from "../../widgets/Notice.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { money } from "../apps/money.ts";
import style from "./Billing.module.css";

interface QuoteDialogProps {
  price: Price;
  onClose: () => void;
  onQuoted: (quote: Quote) => void;
}

/** Works out a price while the seats are typed, and makes a quote of it. */
export function QuoteDialog({ price, onClose, onQuoted }: QuoteDialogProps) {
  const { priceId } = price;
  const currencies = [...new Set([price.currency, ...price.regions.map(({ currency }) => currency)])];
  const form = useForm(CreateQuoteRequestSchema, { priceId, seats: 1, currency: "" });
  const call = useCall(BillingService.method.createQuote, { done: "Quote made" });
  const seats = Number(form.values.seats ?? 1);
  const currency = form.values.currency === "" ? {} : { currency: String(form.values.currency) };
  const possible = Number.isInteger(seats) && seats >= 1 && seats <= 1_000_000;
  const preview = useQuery(
    BillingService.method.previewPrice,
    { priceId, seats, ...currency },
    { enabled: possible, placeholderData: keepPreviousData },
  );
  return (
    <Dialog title={`Quote ${price.product}`} open dirty={form.changed} onClose={onClose}>
      <FormBody
        form={form}
        onSubmit={form.submit(async () => {
          const quote = await call.run({ priceId, seats, ...currency });
          if (quote === undefined) return;
          onQuoted(quote);
          onClose();
        })}
      >
        <Field form={form} name="seats" />
        {currencies.length > 1 && (
          <Select
            label="Currency"
            value={String(form.values.currency)}
            onChange={(value) => form.set({ currency: value })}
            options={[["", "Of the region"], ...currencies.map((code) => [code, code.toUpperCase()] as const)]}
          />
        )}
        <div className={style["preview"]} role="status" aria-label="Preview">
          {preview.data !== undefined && possible && (
            <>
              {`${money(preview.data.unitAmountCents, preview.data.currency)} × ${seats.toLocaleString("en")}`}
              {preview.data.taxCents > 0 && ` + ${money(preview.data.taxCents, preview.data.currency)} tax`} ={" "}
              <strong>{preview.data.formatted}</strong>
            </>
          )}
        </div>
        {preview.error !== null && <FailureNotice failure={failureOf(preview.error)} />}
        <ShowAsCode http="POST /api/pricing/quote" body={bodyOf(form.values)} />
        <SubmitActions call={call} verb="Create quote" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}
