import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { BillingService } from "../../../../gen/atrium/billing/v1/billing_pb.ts";
import type { Card } from "../../../../gen/atrium/billing/v1/cards_pb.ts";
import { Button } from "../../widgets/Button.tsx";
import { Confirm } from "../../widgets/Dialog.tsx";
import { FailureNotice } from "../../widgets/Notice.tsx";
import { Answer, Empty } from "../../widgets/States.tsx";
import { Rows } from "../../widgets/table/Rows.tsx";
import { lastFailure, useCall } from "../../widgets/use-call.ts";
import { inWords } from "../../widgets/words.ts";
import { billingUrl, goToProvider } from "./Checkout.tsx";

const nameOf = ({ brand, last4 }: Card): string => `${inWords(brand)} ending in ${last4}`;

/**
 * Whether the provider knows the caller or the organization: from a card, a subscription or a payment on. It has no
 * pages for others. Where the service does not say, it may.
 */
function useIsCustomer(cards: number | undefined): boolean {
  const subscriptions = useQuery(BillingService.method.listSubscriptions, { limit: 1 });
  const payments = useQuery(BillingService.method.listHistory, { limit: 1 });
  if (subscriptions.isError || payments.isError) return true;
  return [cards, subscriptions.data?.data.length, payments.data?.data.length].some((count = 0) => count > 0);
}

/** The caller's cards; they are entered and changed at the provider. */
export function Cards() {
  const cards = useQuery(BillingService.method.listCards, {});
  const [removed, setRemoved] = useState<Card>();
  const setDefault = useCall(BillingService.method.setDefaultCard, { done: "Default card changed" });
  const remove = useCall(BillingService.method.deleteCard, { done: "Card removed" });
  const portal = useCall(BillingService.method.createPortalSession);
  const isCustomer = useIsCustomer(cards.data?.data.length);
  const failure = lastFailure(portal, setDefault);
  return (
    <>
      {isCustomer && (
        <div>
          <Button
            busy={portal.busy}
            onClick={() => void portal.run({ returnUrl: billingUrl() }).then((session) => goToProvider(session?.url))}
          >
            Manage cards
          </Button>
        </div>
      )}
      {failure !== undefined && <FailureNotice failure={failure} />}
      <Answer of={cards} lines={2}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty text="No card is stored. The first checkout takes one." api="GET /api/billing/cards" />
          ) : (
            <Rows
              caption="Cards"
              rows={data}
              rowKey={({ id }) => id}
              columns={[
                { header: "Card", cell: nameOf },
                {
                  header: "Expires",
                  cell: ({ expMonth, expYear }) => `${String(expMonth).padStart(2, "0")}/${expYear}`,
                },
                { header: "Provider", cell: ({ provider }) => inWords(provider) },
                { header: "Default", cell: ({ isDefault }) => (isDefault ? "Yes" : "No") },
              ]}
              actions={(card) => (
                <>
                  {!card.isDefault && (
                    <Button small title={nameOf(card)} onClick={() => void setDefault.run({ cardId: card.id })}>
                      Make default
                    </Button>
                  )}
                  <Button small title={nameOf(card)} onClick={() => setRemoved(card)}>
                    Remove
                  </Button>
                </>
              )}
            />
          )
        }
      </Answer>
      <Confirm
        title={`Remove ${removed === undefined ? "the card" : nameOf(removed)}?`}
        about="It is deleted here and at the provider. If it is the default, the newest of the others takes its place."
        verb="Remove"
        open={removed !== undefined}
        call={remove}
        onCancel={() => setRemoved(undefined)}
        onConfirm={() => void remove.run({ cardId: removed?.id ?? "" }).then((done) => done && setRemoved(undefined))}
      />
    </>
  );
}
