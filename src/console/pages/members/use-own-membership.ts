import { useQuery } from "@connectrpc/connect-query";
import { UsersService } from "../../../../gen/atrium/users/v1/users_pb.ts";
import { useMe } from "../../session/use-session.ts";

/** Whether the caller, an admin, owns the organization; false until the service has answered. */
export function useIsOwner(): boolean {
  const { userUuid = "" } = useMe();
  const { data } = useQuery(UsersService.method.listUsers, { userUuid, limit: 1 });
  return data?.data[0]?.isOwner === true;
}
