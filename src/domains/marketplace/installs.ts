import type { Caller, RequestInfo } from "../../platform/caller.ts";
import { callerOrg } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Total } from "../../platform/db/counting.ts";
import type { Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import { newEventId } from "../../platform/outgoing/delivery.ts";
import type { MarketplaceDeps } from "./deps.ts";
import type { App } from "./entities.ts";
import { Install } from "./entities.ts";
import { marketplaceErrors } from "./errors.ts";
import { INSTALL_CHANGED } from "./events.ts";
import type { Ender, MarketplaceAuditType } from "./events.ts";
import type { AppPlan } from "./rules.ts";
import * as store from "./store.ts";
import type { InstallFilter, Page, TimelineLine } from "./store.ts";

/** An install with what is shown of its app. */
export interface InstallView {
  install: Install;
  app: Pick<App, "appId" | "name" | "slug">;
  /** On the single read only. */
  timeline?: TimelineLine[];
}

/** What a buyer chooses; everything is optional where the app leaves one choice. */
export interface InstallChoice {
  deploymentMode: string | undefined;
  planId: string | undefined;
  quantity: number | undefined;
}

/** Said of an install that is given back as soon as its turn comes. */
export const ENDED = "The organization that installed the app was deleted.";

/** Tells the install's workflow to look at the row. */
export function emitChanged(tx: Tx, installId: string): Promise<void> {
  return tx.emit({ topic: INSTALL_CHANGED, payload: { install_id: installId } });
}

function isUniqueViolation(error: unknown): boolean {
  return typeof error === "object" && error !== null && "code" in error && error.code === "23505";
}

function chosenMode(app: App, mode: string | undefined): string {
  if (mode === undefined || mode === "") {
    const [only, ...others] = app.deploymentModes;
    if (only === undefined || others.length > 0)
      throw marketplaceErrors.invalidDeploymentMode({ message: "The app has several deployment modes; name one." });
    return only;
  }
  if (!app.deploymentModes.includes(mode)) throw marketplaceErrors.invalidDeploymentMode();
  return mode;
}

function chosenPlan(app: App, planId: string | undefined): AppPlan {
  const plan =
    planId === undefined || planId === "" ? app.plans[0] : app.plans.find((candidate) => candidate.plan_id === planId);
  if (plan === undefined) throw marketplaceErrors.invalidPlan();
  return plan;
}

/** Installing, reading and giving back apps (decisions 9.3–9.5). */
export function createInstalls(deps: MarketplaceDeps) {
  const { database, clock, random, config } = deps;
  const noticeMs = config.schedule.reduce((sum, wait) => sum + wait * 2, 60_000);

  function audited(
    tx: Tx,
    type: MarketplaceAuditType,
    install: Install,
    caller: Ender["caller"],
    info: Ender["info"],
  ): Promise<void> {
    return deps.audit(tx, {
      type,
      orgUuid: install.orgUuid,
      caller,
      info,
      resourceType: "install",
      resourceId: install.installId,
      metadata: { install_id: install.installId, app_id: install.appId },
    });
  }

  async function view(filter: InstallFilter, page: Page): Promise<{ views: InstallView[] } & Total> {
    return database.read(async (em) => {
      const { installs, ...total } = await store.installsWhere(em, filter, page);
      const apps = await store.appsByIds(
        em,
        installs.map((install) => install.appId),
      );
      const views = installs.flatMap((install) => {
        const app = apps.get(install.appId);
        return app === undefined ? [] : [{ install, app }];
      });
      return { views, ...total };
    });
  }

  async function single(installId: string, visible: (install: Install, app: App) => boolean): Promise<InstallView> {
    return database.read(async (em) => {
      const found = await store.installWithTimeline(em, installId);
      const app = found === null ? null : await store.appById(em, found.install.appId);
      if (found === null || app === null || !visible(found.install, app)) throw marketplaceErrors.installNotFound();
      return { ...found, app };
    });
  }

  async function giveBack(tx: Tx, install: Install, { caller, info }: Ender, reason: string): Promise<void> {
    const at = dateOf(clock);
    install.beginDeprovisioning({
      kind: "deprovision",
      eventId: newEventId(random),
      at,
      deadline: dateOf(clock, config.deprovisionDeadlineMs),
    });
    await store.addTimeline(tx, install.installId, at, "deprovisioning", reason);
    await audited(tx, "install.deprovisioning", install, caller, info);
    await emitChanged(tx, install.installId);
  }

  async function pause(
    caller: Caller,
    info: RequestInfo,
    appId: string,
    installId: string,
    kind: "suspend" | "resume",
  ): Promise<InstallView> {
    await database.transaction(async (tx) => {
      // Before the install: whoever locks both, locks the app first.
      await deps.access.apps.demandAdministrator(tx, caller, { appId });
      const install = await store.lockInstall(tx, installId);
      if (install === null || install.appId !== appId) throw marketplaceErrors.installNotFound();
      if (!(await deps.orgLives(tx, install.orgUuid))) throw marketplaceErrors.invalidTransition({ message: ENDED });
      const at = dateOf(clock);
      install[kind]({ kind, eventId: newEventId(random), at, deadline: dateOf(clock, noticeMs) });
      await store.addTimeline(
        tx,
        installId,
        at,
        kind === "suspend" ? "suspended" : "resumed",
        "by an administrator of the app",
      );
      await audited(tx, kind === "suspend" ? "install.suspended" : "install.resumed", install, caller, info);
      await emitChanged(tx, installId);
    }, caller);
    return single(installId, () => true);
  }

  return {
    /**
     * Installs a published app: the row, the audit entry and the message that starts the workflow are one
     * transaction. Errors: 401 unauthorized, 404 app_not_found, 400 invalid_deployment_mode, invalid_plan, 409
     * already_installed.
     */
    async install(caller: Caller, info: RequestInfo, slug: string, choice: InstallChoice): Promise<InstallView> {
      const orgUuid = callerOrg(caller);
      try {
        return await database.transaction(async (tx) => {
          // What is made while its organization ends would outlive it; so would not the caller's token.
          if (!(await deps.keepOrg(tx, orgUuid))) throw errors.unauthorized();
          // Kept as it is, so that nothing is installed once its archiving has been answered.
          const app = await store.keepAppBySlug(tx, slug);
          if (app === null || app.status !== "published") throw marketplaceErrors.appNotFound();
          const deploymentMode = chosenMode(app, choice.deploymentMode);
          const plan = chosenPlan(app, choice.planId);
          if (await store.hasLiveInstall(tx, orgUuid, app.appId)) throw marketplaceErrors.alreadyInstalled();
          const at = dateOf(clock);
          const install = tx.em.create(Install, {
            installId: random.uuid(),
            appId: app.appId,
            orgUuid,
            status: "provisioning",
            deploymentMode,
            planId: plan.plan_id,
            quantity: choice.quantity ?? 1,
            endpointUrl: null,
            paymentSource: plan.price_cents === 0 ? "free" : "direct",
            currentPeriodEnd: null,
            failureReason: null,
            installedBy: caller.userUuid,
            sandbox: caller.sandbox,
            step: "provision",
            stepEventId: newEventId(random),
            stepSince: at,
            stepDeadline: dateOf(clock, config.provisionDeadlineMs),
            acceptedAt: null,
            createdAt: at,
            updatedAt: at,
          });
          await tx.em.flush();
          await store.addTimeline(
            tx,
            install.installId,
            at,
            "requested",
            `plan ${plan.plan_id}, quantity ${install.quantity}, ${deploymentMode}`,
          );
          await audited(tx, "install.requested", install, caller, info);
          await emitChanged(tx, install.installId);
          return { install, app };
        }, caller);
      } catch (error) {
        if (isUniqueViolation(error)) throw marketplaceErrors.alreadyInstalled({ cause: error });
        throw error;
      }
    },

    /** Installs by buyer, app and status, newest first; without timelines. */
    list: view,
    /** One install of the caller's organization with its timeline. Error: 404 install_not_found. */
    read: (caller: Caller, installId: string) => single(installId, (install) => install.orgUuid === callerOrg(caller)),
    /** One install of an app with its timeline, for its administrators. Error: 404 install_not_found. */
    readOfApp: (appId: string, installId: string) => single(installId, (install) => install.appId === appId),

    /**
     * Begins deprovisioning; a provisioning under way is cancelled first. Again while deprovisioning it changes
     * nothing. Errors: 404 install_not_found, 409 invalid_transition when it is over.
     */
    async remove(caller: Caller, info: RequestInfo, installId: string): Promise<InstallView> {
      const orgUuid = callerOrg(caller);
      return database.transaction(async (tx) => {
        const install = await store.lockInstall(tx, installId);
        if (install === null || install.orgUuid !== orgUuid) throw marketplaceErrors.installNotFound();
        const app = await store.appById(tx.em, install.appId);
        if (app === null) throw marketplaceErrors.installNotFound();
        if (install.status !== "deprovisioning")
          await giveBack(tx, install, { caller, info }, "asked for by the organization");
        return { install, app };
      }, caller);
    },

    /** Begins deprovisioning of an install that is live, whoever's it is; one that is over stays so. */
    async removeIn(tx: Tx, by: Ender, installId: string, reason: string): Promise<void> {
      const install = await store.lockInstall(tx, installId);
      if (install !== null && install.status !== "deprovisioning" && install.status !== "deprovisioned")
        await giveBack(tx, install, by, reason);
    },

    /** Stops an active install and tells its publisher. Errors: 404 install_not_found, 409 invalid_transition. */
    suspend: (caller: Caller, info: RequestInfo, appId: string, installId: string) =>
      pause(caller, info, appId, installId, "suspend"),
    /**
     * Lets a suspended install run again and tells its publisher. Errors: 404 install_not_found, 409
     * invalid_transition.
     */
    resume: (caller: Caller, info: RequestInfo, appId: string, installId: string) =>
      pause(caller, info, appId, installId, "resume"),
  };
}

/** Installs as the rest of the domain sees them. */
export type Installs = ReturnType<typeof createInstalls>;
