import { useQuery } from "@connectrpc/connect-query";
import { UsersService } from "../../../../gen/atrium/users/v1/users_pb.ts";
import { queries, transport } from "../../session/session.ts";
import { Id } from "../../widgets/Copy.tsx";
import type { Filter } from "../../widgets/table/DataTable.tsx";
import { readPieces } from "../../widgets/table/parts.ts";
import { useMembers } from "./use-people.ts";

const FRESH_MS = 60_000;

/** Email address of a member; undefined until it is known, and of somebody who is no member. */
export function usePerson(userUuid: string | undefined): string | undefined {
  const { data } = useMembers();
  const known = data?.data.find((member) => member.userUuid === userUuid)?.email;
  const isFurther =
    userUuid !== undefined && data !== undefined && known === undefined && data.total > data.data.length;
  const further = useQuery(
    UsersService.method.listUsers,
    { userUuid, limit: 1 },
    { enabled: isFurther, staleTime: FRESH_MS },
  );
  return known ?? further.data?.data[0]?.email;
}

/** A person by their address, or by the id of who is no member. */
export function Person({ of }: { of: string }) {
  return usePerson(of) ?? <Id of={of} what="user id" />;
}

/** Email addresses of all members by id, for files; they are read once a minute. */
export const everybody = (): Promise<ReadonlyMap<string, string>> =>
  queries.fetchQuery({
    queryKey: ["everybody"],
    staleTime: FRESH_MS,
    async queryFn({ signal }) {
      const emails = new Map<string, string>();
      const all = { q: "", sort: "email", filters: {} };
      const source = { method: UsersService.method.listUsers };
      for await (const { rows } of readPieces(source, all, { signal, onWait: () => undefined }))
        for (const { userUuid, email } of rows) emails.set(userUuid, email);
      return emails;
    },
  });

/** A filter by person: chosen from all members, or where these are too many for a choice, typed as an address. */
export function usePersonFilter(): Filter {
  const { data } = useMembers();
  const filter = { name: "user_uuid", label: "Person", words: (value: string) => <Person of={value} /> };
  if (data !== undefined && data.total > data.data.length)
    return { ...filter, values: [], typed: "email address", find: userUuidOf };
  return { ...filter, values: (data?.data ?? []).map(({ userUuid, email }) => [userUuid, email] as const) };
}

/** Id of the member with an address. */
async function userUuidOf(email: string): Promise<string | undefined> {
  const { message } = await transport.unary(UsersService.method.listUsers, undefined, undefined, undefined, {
    email,
    limit: 1,
  });
  return message.data[0]?.userUuid;
}
