import { dateOf } from "../../../platform/clock.ts";
import type { Tx } from "../../../platform/db/types.ts";
import type { MarketplaceDeps } from "../deps.ts";
import { endCloudTarget, insertCloudTarget } from "./cloud-target-store.ts";
import type { Install } from "./entities.ts";
import type { PublisherResponse } from "./publisher.ts";
import { byPublisher, recordInstallEvent } from "./record.ts";
import { STEP_MESSAGE } from "./rules.ts";
import type { InstallStepKind } from "./rules.ts";
import { addTimeline } from "./timeline-store.ts";

/** Applies the end of a request to a locked install. */
export function createStepEnd(deps: Pick<MarketplaceDeps, "clock" | "random" | "events">) {
  const { clock, random } = deps;
  return {
    /** The publisher has done what was requested. */
    async succeed(tx: Tx, install: Install, kind: InstallStepKind, response: PublisherResponse): Promise<void> {
      const at = dateOf(clock);
      const { installId } = install;
      const detail = response.message === "" ? response.note : `${response.note}: ${response.message}`;
      if (kind === "provision") {
        install.activate(at, response.endpointUrl);
        await insertCloudTarget(tx, random.uuid(), install, response.cloudTarget, at);
        await addTimeline(tx, installId, at, "active", detail);
        await recordInstallEvent(deps, tx, "install.active", byPublisher, install);
      } else if (kind === "deprovision") {
        install.finishDeprovisioning(at);
        await endCloudTarget(tx, installId);
        await addTimeline(tx, installId, at, "deprovisioned", detail);
        await recordInstallEvent(deps, tx, "install.deprovisioned", byPublisher, install);
      } else {
        install.settle();
      }
    },

    /** The publisher has refused, or the deadline has passed. */
    async fail(tx: Tx, install: Install, kind: InstallStepKind, reason: string): Promise<void> {
      const at = dateOf(clock);
      const { installId } = install;
      if (kind === "provision") {
        install.failProvisioning(at, reason);
        await addTimeline(tx, installId, at, "failed", reason);
        await recordInstallEvent(deps, tx, "install.failed", byPublisher, install);
      } else if (kind === "deprovision") {
        install.finishDeprovisioning(at);
        await endCloudTarget(tx, installId);
        await addTimeline(tx, installId, at, "forced", reason);
        await addTimeline(tx, installId, at, "deprovisioned", "given up waiting for the publisher");
        await recordInstallEvent(deps, tx, "install.deprovisioned", byPublisher, install);
      } else {
        install.settle();
        const detail = `${STEP_MESSAGE[kind]} never reached the publisher: ${reason}`;
        await addTimeline(tx, installId, at, "notice_failed", detail);
      }
    },
  };
}
