import { useQuery } from "@connectrpc/connect-query";
import { UsersService } from "../../../../gen/atrium/users/v1/users_pb.ts";

/** The first 200 members by id. */
export const useMembers = () => useQuery(UsersService.method.listUsers, { limit: 200 }, { staleTime: 60_000 });

/** Their email addresses, for texts that name people where the service does not. */
export function usePeople(): ReadonlyMap<string, string> {
  const { data } = useMembers();
  return new Map(data?.data.map(({ userUuid, email }) => [userUuid, email]));
}
