import type { InstallStepKind } from "./rules.ts";

/** Meaning of a publisher's response: done, accepted for later, refused for good, or to be retried. */
export type PublisherResult = "done" | "accepted" | "refused" | "retry";

/** Meaning of a status code for provisioning (decisions 9.4). */
function provisioningResult(status: number): PublisherResult {
  if (status === 200 || status === 201) return "done";
  if (status === 202) return "accepted";
  return status === 422 || status === 410 ? "refused" : "retry";
}

/** Meaning of a status code for deprovisioning (decisions 9.5). */
function deprovisioningResult(status: number): PublisherResult {
  if (status === 202) return "accepted";
  return (status >= 200 && status < 300) || status === 404 || status === 410 ? "done" : "retry";
}

/** Meaning of a status code for a notice of suspension or resumption. */
function noticeResult(status: number): PublisherResult {
  return status >= 200 && status < 300 ? "done" : "retry";
}

/**
 * Returns an endpoint URL that a publisher reports if it is an http(s) URL as it stands, of at most 2,048 characters
 * (decisions 9.4); undefined otherwise.
 */
export function acceptableEndpoint(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > 2048) return undefined;
  // A parser tolerates spaces, line breaks and missing slashes that other readers of the URL interpret differently.
  return /^https?:\/\/[^\s\\\p{Cc}]+$/iu.test(value) && URL.canParse(value) ? value : undefined;
}

/** The part of a timeline entry on reported members that were not stored; empty when there is none. */
export function droppedNote(endpoint: unknown, cloudTarget: unknown): string {
  const isDropped = (value: unknown, kept: unknown): boolean =>
    value !== undefined && value !== null && kept === undefined;
  let note = "";
  if (isDropped(endpoint, acceptableEndpoint(endpoint)))
    note += "; its endpoint_url is not an http(s) URL of at most 2,048 characters and was not kept";
  if (isDropped(cloudTarget, readCloudTarget(cloudTarget)))
    note += "; its cloud_target does not have a provider and a region of 1 to 64 characters and was not kept";
  return note;
}

/** The first 500 characters of a publisher's message to people; empty when there is none. */
export function readMessage(value: unknown): string {
  return typeof value === "string" ? value.slice(0, 500).toWellFormed() : "";
}

/** Reads a cloud target that a publisher reports (decisions 9.7); undefined for anything else. */
export function readCloudTarget(value: unknown): { provider: string; region: string } | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { provider, region } = value as Record<string, unknown>;
  const fits = (text: unknown): text is string => typeof text === "string" && text.length >= 1 && text.length <= 64;
  return fits(provider) && fits(region) ? { provider, region } : undefined;
}

const RESULT_OF: Readonly<Record<InstallStepKind, (status: number) => PublisherResult>> = {
  provision: provisioningResult,
  deprovision: deprovisioningResult,
  suspend: noticeResult,
  resume: noticeResult,
};

/** Meaning of the status code of a publisher's response to a request. */
export function resultOf(kind: InstallStepKind, status: number): PublisherResult {
  return RESULT_OF[kind](status);
}
