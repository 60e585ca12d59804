import { useState } from "react";
import { BillingService } from "../../../../gen/atrium/billing/v1/billing_pb.ts";
import { serviceUrl } from "../../settings.ts";
import { Button } from "../../widgets/Button.tsx";
import { FailureNotice, Notice } from "../../widgets/Notice.tsx";
import { useCall } from "../../widgets/use-call.ts";

/** Address of the billing page, to which providers send the browser back. */
export const billingUrl = (search: Record<string, string> = {}): string => {
  const query = new URLSearchParams(search).toString();
  return `${serviceUrl}/console/billing${query === "" ? "" : `?${query}`}`;
};

/** Goes to an address that a payment provider gave; one that is no page of the web is refused. */
export function goToProvider(address: string | undefined): void {
  const url = address === undefined ? null : URL.parse(address);
  if (url?.protocol === "https:" || url?.protocol === "http:") location.assign(url.href);
}

/** Why a checkout leads nowhere, by its status. */
const WHY: Readonly<Record<string, string>> = {
  complete: "This quote was checked out. The payment is shown here once the provider confirms it.",
  expired: "The payment page of this quote has just ended. Try again in a minute.",
};

/** Opens the provider's page of a quote; the same quote leads to the same page until that ends. */
export function Checkout({ quoteId, disabled = false }: { quoteId: string; disabled?: boolean }) {
  const call = useCall(BillingService.method.createCheckoutSession);
  const [why, setWhy] = useState<string>();
  const open = async (): Promise<void> => {
    const [successUrl, cancelUrl] = [billingUrl({ paid: quoteId }), billingUrl({ left: quoteId })];
    setWhy(undefined);
    const session = await call.run({ quoteId, successUrl, cancelUrl });
    if (session?.status === "open") goToProvider(session.url);
    else if (session !== undefined) setWhy(WHY[session.status] ?? `The checkout is ${session.status}.`);
  };
  return (
    <>
      {call.failure !== undefined && <FailureNotice failure={call.failure} />}
      {why !== undefined && <Notice>{why}</Notice>}
      <Button look="primary" busy={call.busy} disabled={disabled} onClick={() => void open()}>
        Checkout
      </Button>
    </>
  );
}
