import type { RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import { verifyDelivery } from "../../platform/outgoing/signature.ts";
import { parseJson } from "../../transcoding/index.ts";
import type { MarketplaceDeps } from "./deps.ts";
import { secretContext } from "./deps.ts";
import type { App, Install } from "./entities.ts";
import { marketplaceErrors } from "./errors.ts";
import { ENDED, emitChanged } from "./installs.ts";
import type { InstallView } from "./installs.ts";
import { acceptableEndpoint, endpointNote, readCloudTarget, readMessage } from "./rules.ts";
import * as store from "./store.ts";

/** What a publisher reports of an install. */
export interface ProvisioningReport {
  status: "active" | "failed" | "deprovisioned";
  endpointUrl: string | undefined;
  message: string;
  /** What of the report was not kept. */
  note: string;
  cloudTarget: { provider: string; region: string } | undefined;
}

const STATUSES: readonly string[] = ["active", "failed", "deprovisioned"];

/** Reads a publisher's report. Errors: 400 bad_request (no JSON object), validation_error. */
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

/** The publisher's way to settle an install after a 202 (decisions 9.4, 9.5). */
export function createProvisioning(deps: MarketplaceDeps) {
  const { database, clock, sealer } = deps;

  async function activate(tx: Tx, install: Install, report: ProvisioningReport): Promise<void> {
    const at = dateOf(clock);
    install.activate(at, report.endpointUrl);
    await store.keepCloudTarget(tx, deps.random.uuid(), install, report.cloudTarget, at);
    await store.addTimeline(
      tx,
      install.installId,
      at,
      "active",
      `${report.message || "reported by the publisher"}${report.note}`,
    );
  }

  async function settle(tx: Tx, install: Install, report: ProvisioningReport): Promise<boolean> {
    const at = dateOf(clock);
    if (install.status === "provisioning" && report.status === "active") {
      if (!(await deps.orgLives(tx, install.orgUuid))) throw marketplaceErrors.invalidTransition({ message: ENDED });
      await activate(tx, install, report);
    } else if (install.status === "provisioning" && report.status === "failed") {
      install.failProvisioning(at, report.message || "the publisher reported a failure");
      await store.addTimeline(tx, install.installId, at, "failed", install.failureReason ?? "");
    } else if (install.status === "deprovisioning" && report.status === "deprovisioned") {
      install.finishDeprovisioning(at);
      await store.addTimeline(
        tx,
        install.installId,
        at,
        "deprovisioned",
        report.message || "reported by the publisher",
      );
    } else if (
      install.status === report.status ||
      (report.status === "failed" && install.status === "deprovisioned" && install.failureReason !== null)
    ) {
      return false;
    } else {
      throw marketplaceErrors.invalidTransition({
        message: `An install that is ${install.status} takes no report of ${report.status}.`,
      });
    }
    return true;
  }

  async function authenticate(installId: string, headers: Headers, body: Uint8Array): Promise<App> {
    const app = await database.read(async (em) => {
      const install = await store.installById(em, installId);
      return install === null ? null : store.appById(em, install.appId);
    });
    // An unknown install costs the same check against a secret nobody has.
    const secret =
      app === null
        ? `whsec_${deps.random.bytes(32).toString("base64")}`
        : sealer.open(app.webhookSecret, secretContext(app.appId)).toString();
    const genuine = verifyDelivery({ headers, body, secrets: [secret], nowSeconds: Math.floor(clock.now() / 1000) });
    if (!genuine || app === null) throw marketplaceErrors.badSignature();
    return app;
  }

  return {
    /**
     * Settles an install by its publisher's report. The signature is judged before the body.
     * Errors: 401 unauthorized, 400 bad_request or validation_error, 409 invalid_transition.
     */
    async report(installId: string, headers: Headers, body: Uint8Array, info?: RequestInfo): Promise<InstallView> {
      const app = await authenticate(installId, headers, body);
      const report = parseReport(body);
      return database.transaction(async (tx) => {
        const install = await store.lockInstall(tx, installId);
        if (install === null) throw marketplaceErrors.badSignature();
        const moved = await settle(tx, install, report);
        if (moved) {
          await deps.audit(tx, {
            type:
              install.status === "active"
                ? "install.active"
                : report.status === "failed"
                  ? "install.failed"
                  : "install.deprovisioned",
            orgUuid: install.orgUuid,
            caller: null,
            info: null,
            resourceType: "install",
            resourceId: installId,
            metadata: { install_id: installId, app_id: app.appId },
          });
          await emitChanged(tx, installId);
        }
        return { install, app };
      }, info);
    },
  };
}
