import { timestampDate } from "@bufbuild/protobuf/wkt";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { BillingService } from "../../../../gen/atrium/billing/v1/billing_pb.ts";
import type { Subscription } from "../../../../gen/atrium/billing/v1/payments_pb.ts";
import { BuyerService } from "../../../../gen/atrium/marketplace/v1/buyer_pb.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { Confirm } from "../../widgets/Dialog.tsx";
import { Section } from "../../widgets/Page.tsx";
import { Answer, Empty } from "../../widgets/States.tsx";
import { Rows } from "../../widgets/table/Rows.tsx";
import { useEvery } from "../../widgets/table/use-every.ts";
import { Time } from "../../widgets/Time.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { inWords } from "../../widgets/words.ts";
import { usePlanNames } from "./use-plan-names.ts";

const UNTIL_THEN = "Until then everything works as before.";

/** Payments that come again, and when each ends. */
export function Subscriptions() {
  const subscriptions = useEvery({ method: BillingService.method.listSubscriptions });
  const nameOf = useNames(subscriptions.data?.data ?? []);
  const [ending, setEnding] = useState<Subscription>();
  const cancel = useCall(BillingService.method.cancelSubscription, { done: "Subscription ends with its period" });
  return (
    <Section title="Subscriptions">
      <Answer of={subscriptions} lines={2}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty text="There is no subscription." api="POST /api/pricing/checkout-session" />
          ) : (
            <Rows
              caption="Subscriptions"
              rows={data}
              rowKey={({ subscriptionId }) => subscriptionId}
              columns={[
                { header: "For", cell: (one) => <Bought of={one} name={nameOf(one)} /> },
                { header: "Status", cell: ({ status }) => <Status of={status} /> },
                { header: "Seats", cell: ({ seats }) => seats.toLocaleString("en"), right: true },
                { header: "Provider", cell: ({ provider }) => inWords(provider) },
                {
                  header: "Period",
                  cell: (one) => <Period of={one} />,
                },
              ]}
              actions={(one) =>
                one.status !== "canceled" &&
                !one.cancelAtPeriodEnd && (
                  <Button small title={nameOf(one)} onClick={() => setEnding(one)}>
                    Cancel
                  </Button>
                )
              }
            />
          )
        }
      </Answer>
      <Confirm
        title="Cancel the subscription?"
        about={`${ending === undefined ? "It" : nameOf(ending)} ends with the period that is paid. ${UNTIL_THEN}`}
        verb="Cancel subscription"
        open={ending !== undefined}
        call={cancel}
        onCancel={() => setEnding(undefined)}
        onConfirm={() =>
          void cancel.run({ id: ending?.subscriptionId ?? "" }).then((done) => done && setEnding(undefined))
        }
      />
    </Section>
  );
}

/** Returns what names the thing that a subscription pays for: a plan, an app, or the product of a price. */
function useNames(all: readonly Subscription[]): (of: Subscription) => string {
  const planOf = usePlanNames();
  const ofInstalls = all.some(({ installId }) => installId !== undefined);
  const ofPrices = all.some(({ plan, priceId }) => plan === undefined && priceId !== undefined);
  const installs = useEvery({ method: BuyerService.method.listInstalls }, { enabled: ofInstalls });
  const prices = useEvery({ method: BillingService.method.listPrices }, { enabled: ofPrices });
  return ({ plan, priceId, installId }) => {
    if (plan !== undefined) return `Plan ${planOf(plan)}`;
    if (installId !== undefined)
      return installs.data?.data.find((one) => one.installId === installId)?.app?.name ?? "Install";
    return prices.data?.data.find((one) => one.priceId === priceId)?.product ?? `Price ${priceId}`;
  };
}

function Bought({ of: { installId }, name }: { of: Subscription; name: string }) {
  return installId === undefined ? name : <Link to={`/console/installs/${installId}`}>{name}</Link>;
}

/** One that was ended before its period was over has the end of that period all the same, which says nothing then. */
function Period({ of: { currentPeriodEnd: end, cancelAtPeriodEnd, status } }: { of: Subscription }) {
  if (status === "canceled" && (end === undefined || timestampDate(end).getTime() > Date.now())) return <>Ended</>;
  return (
    <>
      {status === "canceled" ? "Ended " : cancelAtPeriodEnd ? "Ends " : "Renews "}
      <Time at={end} none="after the first payment" />
    </>
  );
}
