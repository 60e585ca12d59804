import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { RecordEventsRequest } from "../../../../gen/atrium/billing/v1/metering_pb.ts";
import { errors } from "../../../platform/errors.ts";
import type { ReportedEvent } from "./meters.ts";

/**
 * The events of a request: the members of one, or `events`.
 * @throws {validation_error} for both, for neither, and for one event without id or name
 */
export function reportedEvents({ id, eventName, value, timestamp, events }: RecordEventsRequest): ReportedEvent[] {
  const isSingle = id !== undefined || eventName !== undefined || value !== undefined || timestamp !== undefined;
  const violation = (field: string, message: string) =>
    errors.validation({ fields: [{ field, code: "required", message }] });
  if (events.length > 0) {
    if (isSingle) throw violation("events", "must not be sent beside the members of one event");
    return events.map((event, nth) => ({
      id: event.id,
      eventName: event.eventName,
      value: event.value ?? 1,
      happenedAt: dateOf(event.timestamp),
      path: `events[${nth}].`,
    }));
  }
  if (!isSingle) throw violation("events", "is required, or the members of one event");
  if (id === undefined || id === "") throw violation("id", "is required");
  if (eventName === undefined || eventName === "") throw violation("event_name", "is required");
  return [{ id, eventName, value: value ?? 1, happenedAt: dateOf(timestamp), path: "" }];
}

function dateOf(timestamp: RecordEventsRequest["timestamp"]): Date | undefined {
  return timestamp === undefined ? undefined : new Date(timestampMs(timestamp));
}
