import type { Delivery } from "../../../../gen/atrium/webhooks/v1/webhooks_pb.ts";
import { inWords } from "../../widgets/words.ts";

/** What the endpoint answered last: its status, or what went wrong on the way. */
export function lastAnswer({ attempts }: Delivery): string {
  const last = attempts.at(-1);
  return last === undefined ? "–" : String(last.statusCode ?? last.error ?? "No answer");
}

/** The events that a webhook is for. */
export const eventsInWords = (events: readonly string[]): string =>
  events.includes("*") ? "All events" : events.join(", ");

/** Whose events they are. */
export const scopeInWords = (scope: string): string => (scope === "org" ? "Organization" : inWords(scope));
