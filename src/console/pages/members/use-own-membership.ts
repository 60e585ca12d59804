import { useQuery } from "@connectrpc/connect-query";
import { UsersService } from "../../../../gen/atrium/users/v1/users_pb.ts";
import { forgetSession, noteUnreached, reload } from "../../session/session.ts";
import { useMe } from "../../session/use-session.ts";

/** Whether the caller, an admin, owns the organization; false until the service has answered. */
export function useIsOwner(): boolean {
  const { userUuid = "" } = useMe();
  const { data } = useQuery(UsersService.method.listUsers, { userUuid, limit: 1 });
  return data?.data[0]?.isOwner === true;
}

/** What else follows in this browser from a change of a member, where it is the caller's own. */
export interface OwnChange {
  readonly isOwn: boolean;
  /** After a change of what they may do. */
  changed(): void;
  /** After their sessions have ended. */
  ended(): void;
}

export function useOwnChange(userUuid: string): OwnChange {
  const isOwn = useMe().userUuid === userUuid;
  return {
    isOwn,
    changed() {
      if (isOwn) void reload().catch(noteUnreached);
    },
    ended() {
      if (isOwn) forgetSession();
    },
  };
}
