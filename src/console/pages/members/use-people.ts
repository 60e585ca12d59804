import { useQuery } from "@connectrpc/connect-query";
import { UsersService } from "../../../../gen/atrium/users/v1/users_pb.ts";

/** Email addresses of the first 200 members by id, to show people instead of ids. */
export function usePeople(): ReadonlyMap<string, string> {
  const { data } = useQuery(UsersService.method.listUsers, { limit: 200 }, { staleTime: 60_000 });
  return new Map(data?.data.map(({ userUuid, email }) => [userUuid, email]));
}
