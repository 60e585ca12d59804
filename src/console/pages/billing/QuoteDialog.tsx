import { useQuery } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { useState } from "react";
import { BillingService } from "../../../../gen/atrium/billing/v1/billing_pb.ts";
import { CreateQuoteRequestSchema } from "../../../../gen/atrium/billing/v1/pricing_pb.ts";
import type { Price, Quote } from "../../../../gen/atrium/billing/v1/pricing_pb.ts";
import { failureOf } from "../../session/failures.ts";
import { Button } from "../../widgets/Button.tsx";
import { ShowAsCode, bodyOf } from "../../widgets/CodeSample.tsx";
import { Dialog, DialogActions, SubmitActions } from "../../widgets/Dialog.tsx";
import { Field, FormBody, Select } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { FailureNotice, Notice } from "../../widgets/Notice.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { money } from "../apps/money.ts";
import style from "./Billing.module.css";

interface QuoteDialogProps {
  price: Price;
  onClose: () => void;
  onQuoted: (quote: Quote) => void;
}

/**
 * Works out a price while the seats are typed, and makes a quote of it. A quote takes the region of the caller's
 * address, which the preview does not know: a quote of another sum is shown before it is taken.
 */
export function QuoteDialog({ price, onClose, onQuoted }: QuoteDialogProps) {
  const { priceId } = price;
  const currencies = [...new Set([price.currency, ...price.regions.map(({ currency }) => currency)])];
  const form = useForm(CreateQuoteRequestSchema, { priceId, seats: 1, currency: "" });
  const call = useCall(BillingService.method.createQuote, { done: "Quote made" });
  const [other, setOther] = useState<Quote>();
  const seats = Number(form.values.seats ?? 1);
  const currency = form.values.currency === "" ? {} : { currency: String(form.values.currency) };
  const possible = Number.isInteger(seats) && seats >= 1 && seats <= 1_000_000;
  const preview = useQuery(
    BillingService.method.previewPrice,
    { priceId, seats, ...currency },
    { enabled: possible, placeholderData: keepPreviousData },
  );
  const take = (quote: Quote): void => {
    onQuoted(quote);
    onClose();
  };
  if (other !== undefined)
    return (
      <Dialog title={`Quote ${price.product}`} open onClose={onClose}>
        <Notice kind="warn">
          {reasonOf(other.region)}: this quote is {money(other.totalCents, other.currency)}
          {preview.data !== undefined && `, not ${preview.data.formatted}`}.
        </Notice>
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" onClick={() => take(other)}>
            Take the quote
          </Button>
        </DialogActions>
      </Dialog>
    );
  return (
    <Dialog title={`Quote ${price.product}`} open dirty={form.changed} onClose={onClose}>
      <FormBody
        form={form}
        onSubmit={form.submit(async () => {
          const quote = await call.run({ priceId, seats, ...currency });
          if (quote === undefined) return;
          const shown = preview.data;
          if (shown === undefined || isSame(quote, shown)) take(quote);
          else setOther(quote);
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
        {price.regions.length > 0 && <p>Regions have prices of their own: the quote is of the region you are in.</p>}
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

/** A sum of a currency. */
type Sum = Pick<Quote, "currency" | "totalCents">;

const isSame = (one: Sum, other: Sum): boolean =>
  one.currency === other.currency && one.totalCents === other.totalCents;

const reasonOf = (region: string): string =>
  region === "default" ? "The price has changed meanwhile" : `Your region (${region}) has a price of its own`;
