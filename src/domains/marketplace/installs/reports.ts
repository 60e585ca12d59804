import { dateOf } from "../../../platform/clock.ts";
import type { RequestContext } from "../../../platform/context.ts";
import type { Tx } from "../../../platform/db/types.ts";
import { verifyDelivery } from "../../../platform/outgoing/signature.ts";
import type { App } from "../apps/entities.ts";
import { appById, keepApp } from "../apps/store.ts";
import type { MarketplaceDeps } from "../deps.ts";
import { secretContext } from "../deps.ts";
import { marketplaceErrors } from "../errors.ts";
import { endCloudTarget, insertCloudTarget } from "./cloud-target-store.ts";
import type { Install } from "./entities.ts";
import type { InstallView } from "./read-install.ts";
import { byPublisher, emitChanged, recordInstallEvent } from "./record.ts";
import { parseReport } from "./report.ts";
import type { ProvisioningReport } from "./report.ts";
import { ORGANIZATION_DELETED } from "./rules.ts";
import { installById, lockInstall } from "./store.ts";
import { addTimeline } from "./timeline-store.ts";

type ReportEvent = "install.active" | "install.failed" | "install.deprovisioned";

/** Publishers' reports on requests they have accepted (decisions 9.4, 9.5). */
export function createReports(deps: MarketplaceDeps) {
  const { database, clock, random, sealer, organizations } = deps;

  async function activate(tx: Tx, install: Install, report: ProvisioningReport): Promise<void> {
    if ((await organizations.findIn(tx, install.orgUuid)) === undefined)
      throw marketplaceErrors.invalidTransition({ message: ORGANIZATION_DELETED });
    const at = dateOf(clock);
    install.activate(at, report.endpointUrl);
    await insertCloudTarget(tx, random.uuid(), install, report.cloudTarget, at);
    const detail = `${report.message || "reported by the publisher"}${report.note}`;
    await addTimeline(tx, install.installId, at, "active", detail);
  }

  /** Applies a report to a locked install. Returns the event, or undefined when the report changes nothing. */
  async function apply(tx: Tx, install: Install, report: ProvisioningReport): Promise<ReportEvent | undefined> {
    const { installId, status } = install;
    const at = dateOf(clock);
    if (status === "provisioning" && report.status === "active") {
      await activate(tx, install, report);
      return "install.active";
    }
    if (status === "provisioning" && report.status === "failed") {
      const reason = report.message || "the publisher reported a failure";
      install.failProvisioning(at, reason);
      await addTimeline(tx, installId, at, "failed", reason);
      return "install.failed";
    }
    if (status === "deprovisioning" && report.status === "deprovisioned") {
      install.finishDeprovisioning(at);
      await endCloudTarget(tx, installId);
      await addTimeline(tx, installId, at, "deprovisioned", report.message || "reported by the publisher");
      return "install.deprovisioned";
    }
    const isRepeated =
      status === report.status ||
      (report.status === "failed" && status === "deprovisioned" && install.failureReason !== null);
    if (isRepeated) return undefined;
    throw marketplaceErrors.invalidTransition({
      message: `An install that is ${status} takes no report of ${report.status}.`,
    });
  }

  const secretOf = ({ appId, webhookSecret }: App): string =>
    sealer.open(webhookSecret, secretContext(appId)).toString();

  /** Returns the app of an install when its publisher signed the body. @throws {unauthorized} otherwise */
  async function authenticate(installId: string, headers: Headers, body: Uint8Array): Promise<App> {
    const app = await database.read(async (em) => {
      const install = await installById(em, installId);
      return install === null ? null : appById(em, install.appId);
    });
    // An unknown install takes the same time: it is checked against a random secret.
    const secret = app === null ? `whsec_${random.bytes(32).toString("base64")}` : secretOf(app);
    const isSigned = verifyDelivery({ headers, body, secrets: [secret], nowSeconds: Math.floor(clock.now() / 1000) });
    if (!isSigned || app === null) throw marketplaceErrors.badSignature();
    return app;
  }

  return {
    /**
     * Applies a publisher's report to an install. The signature is verified before the body is parsed.
     * @throws {unauthorized} when there is no such install, or its publisher did not sign the report
     * @throws {bad_request} when the body is not a JSON object
     * @throws {validation_error} when its `status` is unknown
     * @throws {invalid_transition} when the install's status does not allow the report
     */
    async report(context: RequestContext, installId: string, headers: Headers, body: Uint8Array): Promise<InstallView> {
      const app = await authenticate(installId, headers, body);
      const report = parseReport(body);
      return context.transaction(async (tx) => {
        // Before the install, as by all who lock both. A secret that was replaced meanwhile has stopped working.
        const present = await keepApp(tx, app.appId);
        if (present === null || secretOf(present) !== secretOf(app)) throw marketplaceErrors.badSignature();
        const install = await lockInstall(tx, installId);
        if (install === null) throw marketplaceErrors.badSignature();
        const event = await apply(tx, install, report);
        if (event !== undefined) {
          await recordInstallEvent(deps, tx, event, byPublisher, install);
          await emitChanged(tx, installId);
        }
        return { install, app };
      });
    },
  };
}
