import type { Caller } from "../../platform/caller.ts";
import type { Actor } from "./types.ts";

/** The actor of an event a caller causes. */
export function actorOf(caller: Pick<Caller, "principal" | "email">): Actor {
  return { type: caller.principal.type, id: caller.principal.id, email: caller.email };
}

/** The actor of what somebody does before they have a token for it, such as joining. */
export function personActor(userUuid: string, email: string): Actor {
  return { type: "user", id: userUuid, email };
}

/** The actor of what the service does by itself. */
export const systemActor: Actor = { type: "system", id: null, email: null };
