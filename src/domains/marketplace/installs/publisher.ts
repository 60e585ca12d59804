import { certain } from "../../../platform/narrow.ts";
import { retryAfterMs } from "../../../platform/outgoing/delivery.ts";
import type { OutgoingResponse } from "../../../platform/outgoing/client.ts";
import { signDelivery } from "../../../platform/outgoing/signature.ts";
import { parseJson } from "../../../transcoding/index.ts";
import type { App } from "../apps/entities.ts";
import { dateOf } from "../../../platform/clock.ts";
import type { MarketplaceDeps } from "../deps.ts";
import { secretContext } from "../deps.ts";
import { addCall } from "./call-store.ts";
import type { InstallCall } from "./call-store.ts";
import type { Install } from "./entities.ts";
import { acceptableEndpoint, droppedNote, readCloudTarget, readMessage, resultOf } from "./publisher-rules.ts";
import type { PublisherResult } from "./publisher-rules.ts";
import { STEP_MESSAGE } from "./rules.ts";
import type { InstallStepKind } from "./rules.ts";

/** A publisher's response to a request. */
export interface PublisherResponse {
  result: PublisherResult;
  /** For the timeline. */
  note: string;
  endpointUrl: string | undefined;
  message: string;
  cloudTarget: { provider: string; region: string } | undefined;
  /** `Retry-After`, milliseconds; 0: none. */
  retryAfterMs: number;
}

type Body = Pick<PublisherResponse, "endpointUrl" | "message" | "cloudTarget" | "note">;

const EMPTY: Body = { endpointUrl: undefined, message: "", cloudTarget: undefined, note: "" };

/**
 * Parses the body of a publisher's response. A body that is malformed or too long has no effect and is noted in the
 * timeline (decisions 9.4).
 */
function parseBody({ body, truncated, unreadable }: OutgoingResponse): Body {
  if (unreadable !== undefined) return { ...EMPTY, note: "; its body could not be decoded and was not read" };
  if (truncated) return { ...EMPTY, note: "; its body was too long and was not read" };
  if (body.length === 0) return EMPTY;
  try {
    const value = parseJson(body);
    if (typeof value !== "object" || value === null || Array.isArray(value))
      return { ...EMPTY, note: "; its body is not a JSON object" };
    const { endpoint_url: endpoint, message, cloud_target: cloudTarget } = value as Record<string, unknown>;
    return {
      endpointUrl: acceptableEndpoint(endpoint),
      message: readMessage(message),
      cloudTarget: readCloudTarget(cloudTarget),
      note: droppedNote(endpoint, cloudTarget),
    };
  } catch {
    return { ...EMPTY, note: "; its body is not JSON" };
  }
}

/**
 * Creates a function that sends a request of an install to its publisher, signed with the app's webhook secret, and
 * records it for the app's administrators.
 */
export function createPublisherClient({
  database,
  clock,
  config,
  outgoing,
  sealer,
  organizations,
  log,
}: MarketplaceDeps) {
  async function bodyOf(install: Install, app: App, kind: InstallStepKind, eventId: string): Promise<string> {
    const orgName = await database.transaction((tx) => organizations.nameOf(tx, install.orgUuid));
    const since = install.stepSince ?? install.createdAt;
    const allowedMs = kind === "provision" ? config.provisionDeadlineMs : config.deprovisionDeadlineMs;
    return JSON.stringify({
      type: STEP_MESSAGE[kind],
      timestamp: since.toISOString(),
      id: eventId,
      data: {
        install_id: install.installId,
        app_id: app.appId,
        slug: app.slug,
        org: { org_uuid: install.orgUuid, name: certain(orgName, "name of an organization") },
        installed_by: install.installedBy,
        plan_id: install.planId,
        quantity: install.quantity,
        deployment_mode: install.deploymentMode,
        payment_source: install.paymentSource,
        sandbox: install.sandbox,
        callback_url: `${config.baseUrl}/api/marketplace/installs/${install.installId}/provisioning`,
        expires_at: new Date(since.getTime() + allowedMs).toISOString(),
      },
    });
  }

  /** @throws {Error} when the app's secret was sealed with another key */
  function secretOf({ appId, webhookSecret }: App): string {
    try {
      return sealer.open(webhookSecret, secretContext(appId)).toString();
    } catch (err) {
      log.error({ err, app_id: appId }, "the webhook secret of an app cannot be opened");
      throw new Error("The app's webhook secret cannot be read; rotate it.", { cause: err });
    }
  }

  return async function send(
    install: Install,
    app: App,
    kind: InstallStepKind,
    eventId: string,
  ): Promise<PublisherResponse> {
    const body = await bodyOf(install, app, kind, eventId);
    const at = dateOf(clock);
    const begun = performance.now();
    const record = (outcome: Pick<InstallCall, "statusCode" | "error" | "response">): Promise<void> =>
      addCall(database, install.installId, {
        at,
        type: STEP_MESSAGE[kind],
        url: app.provisionWebhook,
        durationMs: Math.round(performance.now() - begun),
        requestBody: body,
        ...outcome,
      });
    let response: OutgoingResponse;
    try {
      const timestamp = Math.floor(at.getTime() / 1000);
      const signature = signDelivery({ id: eventId, timestamp, body, secrets: [secretOf(app)] });
      response = await outgoing.request({
        method: "POST",
        url: app.provisionWebhook,
        headers: { "content-type": "application/json", ...signature },
        body,
        timeoutMs: config.webhookTimeoutMs,
      });
    } catch (error) {
      const message = error instanceof Error ? error.message : "unknown";
      await record({ statusCode: null, error: message, response: null });
      return { ...EMPTY, result: "retry", note: `no answer: ${message}`, retryAfterMs: 0 };
    }
    const text = response.body.toString("utf8");
    await record({ statusCode: response.status, error: null, response: text === "" ? null : text });
    const { note, ...parsed } = parseBody(response);
    return {
      ...parsed,
      result: resultOf(kind, response.status),
      note: `the publisher answered ${response.status}${note}`,
      retryAfterMs: retryAfterMs(response.headers["retry-after"], clock.now()),
    };
  };
}
