import { useSyncExternalStore } from "react";
import type { GetMeResponse } from "../../../gen/atrium/access/v1/access_pb.ts";
import { elevationStore, sessionStore } from "./session.ts";
import type { SessionState } from "./session.ts";

export const useSession = (): SessionState => useSyncExternalStore(sessionStore.subscribe, sessionStore.get);

/** When the elevation ends; undefined without one. */
export const useElevation = (): number | undefined =>
  useSyncExternalStore(elevationStore.subscribe, elevationStore.get);

/** The signed-in caller. Pages of the console are shown to nobody else. */
export function useMe(): GetMeResponse {
  const session = useSession();
  if (session.status !== "in") throw new Error("nobody is signed in");
  return session.me;
}

/** Id of the organization of the caller; pages that need one are not shown without. */
export const useOrg = (): string => useMe().orgUuid ?? "";
