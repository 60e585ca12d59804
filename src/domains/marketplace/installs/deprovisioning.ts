import { dateOf } from "../../../platform/clock.ts";
import type { Tx } from "../../../platform/db/types.ts";
import { newEventId } from "../../../platform/outgoing/delivery.ts";
import type { Cause } from "../../event-catalogue/index.ts";
import type { MarketplaceDeps } from "../deps.ts";
import type { Install } from "./entities.ts";
import { emitChanged, recordInstallEvent } from "./record.ts";
import { lockInstall } from "./store.ts";
import { addTimeline } from "./timeline-store.ts";

/** Begins the deprovisioning of installs. */
export function createDeprovisioning(deps: Pick<MarketplaceDeps, "clock" | "random" | "events" | "config">) {
  const { clock, random, config } = deps;

  /** Begins deprovisioning a locked install. */
  async function begin(tx: Tx, by: Cause, install: Install, reason: string): Promise<void> {
    const at = dateOf(clock);
    install.beginDeprovisioning({
      kind: "deprovision",
      eventId: newEventId(random),
      at,
      deadline: dateOf(clock, config.deprovisionDeadlineMs),
    });
    await addTimeline(tx, install.installId, at, "deprovisioning", reason);
    await recordInstallEvent(deps, tx, "install.deprovisioning", by, install);
    await emitChanged(tx, install.installId);
  }

  return {
    begin,
    /** Begins deprovisioning an install of any organization; changes nothing when that has begun or ended. */
    async beginIfLive(tx: Tx, by: Cause, installId: string, reason: string): Promise<void> {
      const install = await lockInstall(tx, installId);
      if (install !== null && install.status !== "deprovisioning" && install.status !== "deprovisioned")
        await begin(tx, by, install, reason);
    },
  };
}

/** Deprovisioning as the rest of the domain uses it. */
export type Deprovisioning = ReturnType<typeof createDeprovisioning>;
