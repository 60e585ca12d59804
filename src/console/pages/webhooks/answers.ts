import type { Delivery } from "../../../../gen/atrium/webhooks/v1/webhooks_pb.ts";

/** What the endpoint answered last: its status, or what went wrong on the way. */
export function lastAnswer({ attempts }: Delivery): string {
  const last = attempts.at(-1);
  return last === undefined ? "–" : String(last.statusCode ?? last.error ?? "No answer");
}
