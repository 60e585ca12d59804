import { useQuery } from "@connectrpc/connect-query";
import type { ReactNode } from "react";
import { OperatorService } from "../../../../gen/atrium/operator/v1/operator_pb.ts";
import { Id } from "../../widgets/Copy.tsx";

/** Returns what shows an organization by its name; one beyond the first 200 by its id. */
export function useOrganizationNames(): (orgUuid: string) => ReactNode {
  const { data } = useQuery(OperatorService.method.listAllOrganizations, { limit: 200 }, { staleTime: 60_000 });
  const names = new Map(data?.data.map(({ orgUuid, name }) => [orgUuid, name]));
  return (orgUuid) => names.get(orgUuid) ?? <Id of={orgUuid} what="organization id" />;
}
