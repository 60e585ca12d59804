import { useQuery } from "@connectrpc/connect-query";
import { useSearch } from "@tanstack/react-router";
import { UsersService } from "../../../../gen/atrium/users/v1/users_pb.ts";
import { useOrg } from "../../session/use-session.ts";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Facts, Page, Section } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { Cards } from "./Cards.tsx";
import { Meters } from "./Meters.tsx";
import { OfferedPrices } from "./OfferedPrices.tsx";
import { Payments } from "./Payments.tsx";
import { Returned } from "./Returned.tsx";
import { Subscriptions } from "./Subscriptions.tsx";
import { usePlanNames } from "./use-plan-names.ts";

/** What the organization has bought, and what it has paid. */
export default function Billing() {
  const { paid, left, install }: { paid?: string; left?: string; install?: string } = useSearch({ strict: false });
  return (
    <Page
      title="Billing"
      about="Plan, subscriptions and payments. Card data is entered at the payment provider, never here."
    >
      <Returned paid={paid} left={left} />
      <CurrentPlan />
      <OfferedPrices installId={install} />
      <Subscriptions />
      <Section title="Cards" about="Your stored payment methods in this organization.">
        <Cards />
      </Section>
      <Payments />
      <Meters />
      <CodeSample http="GET /api/billing/subscriptions" />
    </Page>
  );
}

function CurrentPlan() {
  const orgUuid = useOrg();
  const planOf = usePlanNames();
  const organization = useQuery(UsersService.method.getOrganization, { orgUuid });
  return (
    <Section title="Plan">
      <Answer of={organization} lines={2}>
        {({ plan, entitlements }) => (
          <Facts>
            {[
              ["Plan", planOf(plan)],
              ["Entitlements", entitlements.length === 0 ? "None" : entitlements.join(", ")],
            ]}
          </Facts>
        )}
      </Answer>
    </Section>
  );
}
