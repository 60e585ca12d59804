import { BillingService } from "../../../../gen/atrium/billing/v1/billing_pb.ts";
import { serviceUrl } from "../../settings.ts";
import { Button } from "../../widgets/Button.tsx";
import { FailureNotice } from "../../widgets/Notice.tsx";
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

/** Opens the provider's page of a quote; the same quote always leads to the same page. */
export function Checkout({ quoteId, disabled = false }: { quoteId: string; disabled?: boolean }) {
  const call = useCall(BillingService.method.createCheckoutSession);
  const open = async (): Promise<void> => {
    const [successUrl, cancelUrl] = [billingUrl({ paid: quoteId }), billingUrl({ left: quoteId })];
    const session = await call.run({ quoteId, successUrl, cancelUrl });
    goToProvider(session?.url);
  };
  return (
    <>
      {call.failure !== undefined && <FailureNotice failure={call.failure} />}
      <Button look="primary" busy={call.busy} disabled={disabled} onClick={() => void open()}>
        Checkout
      </Button>
    </>
  );
}
