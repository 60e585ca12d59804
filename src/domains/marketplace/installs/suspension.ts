import { dateOf } from "../../../platform/clock.ts";
import type { CallerContext } from "../../../platform/context.ts";
import type { Tx } from "../../../platform/db/types.ts";
import { newEventId } from "../../../platform/outgoing/delivery.ts";
import { causedBy, EVENTS } from "../../event-catalogue/index.ts";
import type { App } from "../apps/entities.ts";
import { appById } from "../apps/store.ts";
import type { MarketplaceDeps } from "../deps.ts";
import { marketplaceErrors } from "../errors.ts";
import type { Install } from "./entities.ts";
import type { InstallView } from "./read-install.ts";
import { byPublisher, emitChanged, recordInstallEvent } from "./record.ts";
import { ORGANIZATION_DELETED } from "./rules.ts";
import { lockInstall } from "./store.ts";
import { addTimeline, timelineIn } from "./timeline-store.ts";

const CHANGES = {
  suspend: { entry: "suspended", event: "install.suspended" },
  resume: { entry: "resumed", event: "install.resumed" },
} as const;

/** Suspending and resuming installs, for administrators of the app. */
export function createSuspension(deps: MarketplaceDeps) {
  const { clock, random, access, events, organizations, config } = deps;
  /** Longest time that the attempts at a notice take. */
  const noticeMs = config.schedule.reduce((sum, wait) => sum + wait * 2, 60_000);

  /** Records the change in the logs of the buyer and of the publisher; the buyer's names nobody of the publisher. */
  async function record(
    tx: Tx,
    context: CallerContext,
    type: (typeof CHANGES)[keyof typeof CHANGES]["event"],
    install: Install,
    app: App,
  ): Promise<void> {
    const { caller } = context;
    const isNamed = caller.isPlatformAdmin || caller.orgUuid === install.orgUuid;
    await recordInstallEvent(deps, tx, type, isNamed ? causedBy(context) : byPublisher, install);
    if (app.orgUuid === install.orgUuid) return;
    await events.emit(tx, EVENTS[type], {
      by: causedBy(context),
      orgUuid: app.orgUuid,
      resourceId: install.installId,
      metadata: { install_id: install.installId, app_id: app.appId },
    });
  }

  function change(
    context: CallerContext,
    appId: string,
    installId: string,
    kind: keyof typeof CHANGES,
  ): Promise<InstallView> {
    return context.transaction(async (tx) => {
      // Before the install: every transaction that locks both locks the app first.
      await access.apps.demandAdministrator(tx, context.caller, { appId });
      const install = await lockInstall(tx, installId);
      if (install === null || install.appId !== appId) throw marketplaceErrors.installNotFound();
      const app = await appById(tx.em, appId);
      if (app === null) throw marketplaceErrors.installNotFound();
      if ((await organizations.findIn(tx, install.orgUuid)) === undefined)
        throw marketplaceErrors.invalidTransition({ message: ORGANIZATION_DELETED });
      const at = dateOf(clock);
      install[kind]({ kind, eventId: newEventId(random), at, deadline: dateOf(clock, noticeMs) });
      const { entry, event } = CHANGES[kind];
      await addTimeline(tx, installId, at, entry, "by an administrator of the app");
      await record(tx, context, event, install, app);
      await emitChanged(tx, installId);
      return { install, app, timeline: await timelineIn(tx, installId) };
    });
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
