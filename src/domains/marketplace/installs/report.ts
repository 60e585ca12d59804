import { errors } from "../../../platform/errors.ts";
import { memberOf } from "../../../platform/json-member.ts";
import { parseJson } from "../../../transcoding/index.ts";
import { acceptableEndpoint, droppedNote, readCloudTarget, readMessage } from "./publisher-rules.ts";

/** A publisher's report of an install. */
export interface ProvisioningReport {
  status: "active" | "failed" | "deprovisioned";
  endpointUrl: string | undefined;
  message: string;
  /** Which part of the report was not stored. */
  note: string;
  cloudTarget: { provider: string; region: string } | undefined;
}

const STATUSES: readonly string[] = ["active", "failed", "deprovisioned"];

/**
 * Parses a publisher's report.
 * @throws {bad_request} when the body is not a JSON object, or has a member twice
 * @throws {validation_error} when its `status` is unknown
 */
export function parseReport(body: Uint8Array): ProvisioningReport {
  let value: unknown;
  try {
    value = parseJson(body);
  } catch (error) {
    throw errors.badRequest({
      message: `The body is not acceptable JSON: ${error instanceof Error ? error.message : "unreadable"}.`,
      cause: error,
    });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw errors.badRequest({ message: "The body is not a JSON object." });
  const members = value as Record<string, unknown>;
  const { status, message } = members;
  const endpoint = memberOf(members, "endpoint_url", "endpointUrl");
  const cloudTarget = memberOf(members, "cloud_target", "cloudTarget");
  if (typeof status !== "string" || !STATUSES.includes(status)) {
    const rule = { code: "not_allowed", message: `must be one of ${STATUSES.join(", ")}` };
    throw errors.validation({ fields: [{ field: "status", ...rule }] });
  }
  return {
    status: status as ProvisioningReport["status"],
    endpointUrl: acceptableEndpoint(endpoint),
    message: readMessage(message),
    note: droppedNote(endpoint, cloudTarget),
    cloudTarget: readCloudTarget(cloudTarget),
  };
}
