import type { Caller } from "../../platform/caller.ts";
import type { Actor } from "./events.ts";

/** The actor of an event a caller causes. */
export function actorOf(caller: Caller): Actor {
  return { type: caller.principal.type, id: caller.principal.id, email: caller.email };
}
