import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useState } from "react";
import { BillingService } from "../../../../gen/atrium/billing/v1/billing_pb.ts";
import type { Price, Quote } from "../../../../gen/atrium/billing/v1/pricing_pb.ts";
import { useCountdown } from "../../widgets/use-countdown.ts";
import { Button } from "../../widgets/Button.tsx";
import { FailureNotice, Notice } from "../../widgets/Notice.tsx";
import { Facts, Section } from "../../widgets/Page.tsx";
import { Answer, Empty } from "../../widgets/States.tsx";
import { Rows } from "../../widgets/table/Rows.tsx";
import { useEvery } from "../../widgets/table/use-every.ts";
import { useCall } from "../../widgets/use-call.ts";
import { money, per } from "../apps/money.ts";
import style from "./Billing.module.css";
import { Checkout } from "./Checkout.tsx";
import { QuoteDialog } from "./QuoteDialog.tsx";
import { usePlanNames } from "./use-plan-names.ts";

/** What can be bought, and the quote that was made last. */
export function OfferedPrices({ installId }: { installId: string | undefined }) {
  const prices = useEvery({ method: BillingService.method.listPrices, input: { active: true } });
  const planOf = usePlanNames();
  const [chosen, setChosen] = useState<Price>();
  const [quote, setQuote] = useState<Quote>();
  const forInstall = useCall(BillingService.method.createQuote);
  return (
    <Section title="Prices" about="A quote holds a price for 15 minutes. Nothing is granted before it is paid.">
      {installId !== undefined && quote === undefined && (
        <Notice>
          <p>An install is waiting to be paid.</p>
          <Button
            busy={forInstall.busy}
            onClick={() => void forInstall.run({ installId }).then((made) => made && setQuote(made))}
          >
            Quote the install
          </Button>
        </Notice>
      )}
      {forInstall.failure !== undefined && <FailureNotice failure={forInstall.failure} />}
      {quote !== undefined && <OpenQuote key={quote.quoteId} quote={quote} />}
      <Answer of={prices}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty text="No price is offered." api="GET /api/pricing/prices" />
          ) : (
            <Rows
              caption="Prices"
              rows={data}
              rowKey={({ priceId }) => String(priceId)}
              columns={[
                { header: "Product", cell: ({ product }) => product },
                { header: "Plan", cell: ({ plan }) => (plan === undefined ? "–" : planOf(plan)) },
                {
                  header: "Price of a seat",
                  cell: ({ unitAmountCents, currency, interval }) =>
                    `${money(unitAmountCents, currency)} ${per(interval)}`,
                  right: true,
                },
              ]}
              actions={(price) => (
                <Button small title={price.product} onClick={() => setChosen(price)}>
                  Quote
                </Button>
              )}
            />
          )
        }
      </Answer>
      {chosen !== undefined && <QuoteDialog price={chosen} onClose={() => setChosen(undefined)} onQuoted={setQuote} />}
    </Section>
  );
}

function OpenQuote({ quote }: { quote: Quote }) {
  // By the service's clock alone: it has just made the quote, and the browser's clock may be wrong.
  const left = useCountdown(lifeOf(quote), quote.quoteId);
  const { currency } = quote;
  return (
    <section className={style["quote"]} aria-label="Quote">
      <Facts>
        {[
          ["Seats", quote.seats.toLocaleString("en")],
          ["Region", quote.region === "default" ? "Default" : quote.region],
          ["Subtotal", money(quote.subtotalCents, currency)],
          ["Tax", money(quote.taxCents, currency)],
          ["Total", <strong key="total">{money(quote.totalCents, currency)}</strong>],
        ]}
      </Facts>
      <div className={style["pay"]}>
        <Checkout quoteId={quote.quoteId} disabled={left === 0} />
        <span role="timer">{left === 0 ? "This quote has expired." : `Good for ${clock(left)}`}</span>
      </div>
    </section>
  );
}

/** Seconds from the making of a quote to its end. */
const lifeOf = ({ issuedAt, expiresAt }: Quote): number =>
  issuedAt === undefined || expiresAt === undefined
    ? 0
    : Math.ceil((timestampDate(expiresAt).getTime() - timestampDate(issuedAt).getTime()) / 1000);

/** `14:32`. */
const clock = (seconds: number): string => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
