import { useQuery } from "@connectrpc/connect-query";
import type { ReactNode } from "react";
import { OperatorService } from "../../../../gen/atrium/operator/v1/operator_pb.ts";
import { holds } from "../../powers.ts";
import { useMe } from "../../session/use-session.ts";
import { Id } from "../../widgets/Copy.tsx";

/**
 * Returns what shows an organization by its name. One beyond the first 200 is shown by its id, as is every one to an
 * operator who is no platform admin.
 */
export function useOrganizationNames(): (orgUuid: string) => ReactNode {
  const me = useMe();
  const { data } = useQuery(
    OperatorService.method.listAllOrganizations,
    { limit: 200 },
    { staleTime: 60_000, enabled: holds(me, "platform") },
  );
  const names = new Map(data?.data.map(({ orgUuid, name }) => [orgUuid, name]));
  return (orgUuid) => names.get(orgUuid) ?? <Id of={orgUuid} what="organization id" />;
}
