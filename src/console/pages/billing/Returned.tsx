import { useQuery } from "@connectrpc/connect-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { BillingService } from "../../../../gen/atrium/billing/v1/billing_pb.ts";
import { queries } from "../../session/session.ts";
import { useCountdown } from "../../widgets/use-countdown.ts";
import { Button } from "../../widgets/Button.tsx";
import { Notice } from "../../widgets/Notice.tsx";
import { money } from "../apps/money.ts";
import { Checkout } from "./Checkout.tsx";

/** Seconds after which the page says that a confirmation is late. */
const LATE_S = 60;

interface ReturnedProps {
  /** Quote whose checkout says that it was paid. */
  paid: string | undefined;
  /** Quote whose checkout was left without paying. */
  left: string | undefined;
}

/** What became of a checkout, for those who come back from the provider. */
export function Returned({ paid, left }: ReturnedProps) {
  if (paid !== undefined) return <Confirmation quoteId={paid} />;
  if (left !== undefined)
    return (
      <Notice kind="warn">
        <p>Nothing was paid. The quote can be paid while it is open.</p>
        <Checkout quoteId={left} />
      </Notice>
    );
  return null;
}

/** Waits for the webhook of the provider: the address of the return proves no payment. */
function Confirmation({ quoteId }: { quoteId: string }) {
  const navigate = useNavigate();
  const waiting = useCountdown(LATE_S, quoteId);
  const history = useQuery(
    BillingService.method.listHistory,
    { limit: 50 },
    { refetchInterval: ({ state }) => (payment(state.data?.data) === undefined ? 1_500 : false) },
  );
  function payment<P extends { quoteId?: string | undefined }>(payments: readonly P[] | undefined): P | undefined {
    return payments?.find((one) => one.quoteId === quoteId);
  }
  const found = payment(history.data?.data);
  const isFound = found !== undefined;
  useEffect(() => {
    if (isFound) void queries.invalidateQueries();
  }, [isFound]);
  const close = (
    <Button small onClick={() => void navigate({ to: ".", search: {}, replace: true })}>
      Close
    </Button>
  );
  if (found === undefined)
    return (
      <Notice>
        <div role="status">
          {waiting > 0
            ? "Waiting for the payment provider to confirm the payment."
            : "The confirmation is late. This page keeps waiting; payments are also reconciled once a day."}
        </div>
      </Notice>
    );
  const sum = money(found.amount, found.currency);
  return found.status === "failed" ? (
    <Notice kind="bad">
      The payment of {sum} failed. {close}
    </Notice>
  ) : (
    <Notice kind="good">
      <span role="status">Payment of {sum} confirmed.</span> {close}
    </Notice>
  );
}
