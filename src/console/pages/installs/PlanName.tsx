import { useQuery } from "@connectrpc/connect-query";
import { BuyerService } from "../../../../gen/atrium/marketplace/v1/buyer_pb.ts";
import type { Install } from "../../../../gen/atrium/marketplace/v1/marketplace_pb.ts";
import type { Column } from "../../widgets/table/Rows.tsx";

/** Columns of lists of installs. */
export const PLAN_AND_SEATS: readonly Column<Install>[] = [
  {
    header: "Plan",
    cell: ({ app, planId }) => <PlanName slug={app?.slug} planId={planId} />,
    csv: ({ planId }) => planId,
  },
  {
    header: "Seats",
    cell: ({ quantity }) => quantity.toLocaleString("en"),
    csv: ({ quantity }) => quantity,
    right: true,
  },
];

/** Name of a plan of an app; its id where the app is not offered any more, or not yet. */
export function PlanName({ slug, planId }: { slug: string | undefined; planId: string }) {
  const app = useQuery(
    BuyerService.method.getApp,
    { slug: slug ?? "" },
    { staleTime: 600_000, enabled: slug !== undefined },
  );
  return <>{app.data?.plans.find((plan) => plan.planId === planId)?.name || planId}</>;
}
