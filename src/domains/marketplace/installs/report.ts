import { errors } from "../../../platform/errors.ts";
import { parseJson } from "../../../transcoding/index.ts";
import { acceptableEndpoint, endpointNote, readCloudTarget, readMessage } from "./publisher-rules.ts";

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
 * @throws {bad_request} when the body is not a JSON object
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
  const { status, endpoint_url: endpoint, message, cloud_target: cloudTarget } = value as Record<string, unknown>;
  if (typeof status !== "string" || !STATUSES.includes(status)) {
    throw errors.validation({ fields: [{ field: "status", code: "in", message: `One of ${STATUSES.join(", ")}.` }] });
  }
  return {
    status: status as ProvisioningReport["status"],
    endpointUrl: acceptableEndpoint(endpoint),
    message: readMessage(message),
    note: endpointNote(endpoint),
    cloudTarget: readCloudTarget(cloudTarget),
  };
}
