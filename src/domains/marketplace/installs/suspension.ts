import { dateOf } from "../../../platform/clock.ts";
import type { CallerContext } from "../../../platform/context.ts";
import { newEventId } from "../../../platform/outgoing/delivery.ts";
import { causedBy } from "../../event-catalogue/index.ts";
import type { MarketplaceDeps } from "../deps.ts";
import { marketplaceErrors } from "../errors.ts";
import { readInstall } from "./read-install.ts";
import type { InstallView } from "./read-install.ts";
import { emitChanged, recordInstallEvent } from "./record.ts";
import { ORGANIZATION_DELETED } from "./rules.ts";
import { lockInstall } from "./store.ts";
import { addTimeline } from "./timeline-store.ts";

const CHANGES = {
  suspend: { entry: "suspended", event: "install.suspended" },
  resume: { entry: "resumed", event: "install.resumed" },
} as const;

/** Suspending and resuming installs, for administrators of the app. */
export function createSuspension(deps: MarketplaceDeps) {
  const { database, clock, random, access, organizations, config } = deps;
  /** Longest time that the attempts at a notice take. */
  const noticeMs = config.schedule.reduce((sum, wait) => sum + wait * 2, 60_000);

  async function change(
    context: CallerContext,
    appId: string,
    installId: string,
    kind: keyof typeof CHANGES,
  ): Promise<InstallView> {
    await context.transaction(async (tx) => {
      // Before the install: every transaction that locks both locks the app first.
      await access.apps.demandAdministrator(tx, context.caller, { appId });
      const install = await lockInstall(tx, installId);
      if (install === null || install.appId !== appId) throw marketplaceErrors.installNotFound();
      if ((await organizations.findIn(tx, install.orgUuid)) === undefined)
        throw marketplaceErrors.invalidTransition({ message: ORGANIZATION_DELETED });
      const at = dateOf(clock);
      install[kind]({ kind, eventId: newEventId(random), at, deadline: dateOf(clock, noticeMs) });
      const { entry, event } = CHANGES[kind];
      await addTimeline(tx, installId, at, entry, "by an administrator of the app");
      await recordInstallEvent(deps, tx, event, causedBy(context), install);
      await emitChanged(tx, installId);
    });
    return readInstall(database, installId, () => true);
  }

  return {
    /**
     * Suspends an active install and notifies its publisher.
     * @throws {install_not_found} when the app has no such install
     * @throws {invalid_transition} when it is not active, or its organization has been deleted
     */
    suspend: (context: CallerContext, appId: string, installId: string): Promise<InstallView> =>
      change(context, appId, installId, "suspend"),

    /**
     * Resumes a suspended install and notifies its publisher.
     * @throws {install_not_found} when the app has no such install
     * @throws {invalid_transition} when it is not suspended, or its organization has been deleted
     */
    resume: (context: CallerContext, appId: string, installId: string): Promise<InstallView> =>
      change(context, appId, installId, "resume"),
  };
}
