import { useQuery } from "@connectrpc/connect-query";
import { BillingService } from "../../../../gen/atrium/billing/v1/billing_pb.ts";
import { holds } from "../../powers.ts";
import { useMe } from "../../session/use-session.ts";
import { inWords } from "../../widgets/words.ts";

/** Returns the name of a plan of organizations; its code in words to whoever may not list plans. */
export function usePlanNames(): (plan: string) => string {
  const me = useMe();
  const { data } = useQuery(BillingService.method.listPlans, {}, { staleTime: 60_000, enabled: holds(me, "platform") });
  const names = new Map(data?.data.map(({ plan, name }) => [plan, name]));
  return (plan) => names.get(plan) ?? inWords(plan);
}
