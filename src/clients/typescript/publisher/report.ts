import { Code, ConnectError } from "../bundled/connect.ts";
import { Webhook } from "../bundled/standardwebhooks.ts";
import { ErrorInfoSchema } from "../../../../gen/google/rpc/error_details_pb.ts";
import { directFetch } from "../direct-fetch.ts";
import { AtriumError } from "../errors.ts";
import { isTransient, sleep, waitBefore } from "../retry.ts";
import type { InstallReport } from "./types.ts";

/** A report is sent again for so long: a restart or a fail-over of the service is over by then. */
const REPORT_MS = 600_000;
const LONGEST_WAIT_MS = 30_000;
const TIMEOUT_MS = 10_000;

/** Connect codes of the statuses with which a report is refused. */
const CODES: Readonly<Record<number, Code>> = {
  400: Code.InvalidArgument,
  401: Code.Unauthenticated,
  409: Code.FailedPrecondition,
  429: Code.ResourceExhausted,
  503: Code.Unavailable,
  504: Code.DeadlineExceeded,
};

interface ReportSettings {
  secret: string;
  baseUrl: string;
  fetch?: typeof globalThis.fetch;
}

/**
 * Posts a signed report, again while the service is busy or away: a status that is already known changes nothing.
 * @throws AtriumError when the service refuses it, or has not taken it within ten minutes
 */
export async function postReport(settings: ReportSettings, installId: string, outcome: InstallReport): Promise<void> {
  const id = `msg_${installId}_${outcome.status}`;
  const { endpointUrl, cloudTarget, ...others } = { endpointUrl: undefined, cloudTarget: undefined, ...outcome };
  const body = JSON.stringify({ ...others, endpoint_url: endpointUrl, cloud_target: cloudTarget });
  const endsAtMs = Date.now() + REPORT_MS;
  for (let lost = 0; ; lost++) {
    const error = await post(settings, installId, id, body);
    if (error === undefined) return;
    const leftMs = endsAtMs - Date.now();
    const mayRepeat = isTransient(error) || error.status >= 500;
    const waitMs = mayRepeat ? waitBefore(lost, error, leftMs, LONGEST_WAIT_MS) : undefined;
    if (waitMs === undefined || waitMs > leftMs) throw error;
    await sleep(waitMs, undefined);
  }
}

async function post(
  { secret, baseUrl, fetch }: ReportSettings,
  installId: string,
  id: string,
  body: string,
): Promise<AtriumError | undefined> {
  const at = new Date();
  const url = `${baseUrl.replace(/\/+$/u, "")}/api/marketplace/installs/${encodeURIComponent(installId)}/provisioning`;
  try {
    const response = await directFetch(fetch)(url, {
      method: "POST",
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": String(Math.floor(at.getTime() / 1_000)),
        "webhook-signature": new Webhook(secret.trim()).sign(id, at, body),
      },
      body,
    });
    const text = await response.text();
    return response.ok ? undefined : refusalOf(response, text);
  } catch (reason) {
    // Connect takes the time-out of a signal for a cancellation by the caller.
    const isLate = reason instanceof Error && reason.name === "TimeoutError";
    return AtriumError.from(isLate ? new ConnectError(reason.message, Code.Unavailable) : reason, Code.Unavailable);
  }
}

/** What is no error of the service, such as a page of a proxy, is refused or lost by its status alone. */
const codeOf = (status: number): Code => CODES[status] ?? (status < 500 ? Code.InvalidArgument : Code.Unknown);

function refusalOf({ status, headers }: Response, text: string): AtriumError {
  let problem: { code?: string; message?: string } = {};
  try {
    problem = JSON.parse(text) as typeof problem;
  } catch {
    // Something between the service and here responded.
  }
  const { code, message = `HTTP ${status}` } = problem;
  const info = { reason: code?.toUpperCase() ?? "", domain: "atrium", metadata: { http_status: String(status) } };
  const details = code === undefined ? [] : [{ desc: ErrorInfoSchema, value: info }];
  return new AtriumError(new ConnectError(message, codeOf(status), headers, details));
}
