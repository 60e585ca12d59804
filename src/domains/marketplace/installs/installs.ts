import { pagingBy } from "../../../platform/cursors.ts";
import { callerOrg } from "../../../platform/caller.ts";
import { dateOf } from "../../../platform/clock.ts";
import type { CallerContext } from "../../../platform/context.ts";
import type { Total } from "../../../platform/db/total.ts";
import type { Tx } from "../../../platform/db/types.ts";
import { errors } from "../../../platform/errors.ts";
import { newEventId } from "../../../platform/outgoing/delivery.ts";
import { causedBy } from "../../event-catalogue/index.ts";
import { appById, appsByIds, keepAppBySlug } from "../apps/store.ts";
import type { MarketplaceDeps, Page } from "../deps.ts";
import { marketplaceErrors } from "../errors.ts";
import { chosenMode, chosenPlan } from "./choice.ts";
import type { InstallChoice } from "./choice.ts";
import type { Deprovisioning } from "./deprovisioning.ts";
import { Install } from "./entities.ts";
import { callsOf } from "./call-store.ts";
import type { InstallCall } from "./call-store.ts";
import { readInstall } from "./read-install.ts";
import type { InstallView } from "./read-install.ts";
import { emitChanged, recordInstallEvent } from "./record.ts";
import * as store from "./store.ts";
import type { InstallFilter } from "./store.ts";
import { addTimeline } from "./timeline-store.ts";

function isUniqueViolation(error: unknown): boolean {
  return typeof error === "object" && error !== null && "code" in error && error.code === "23505";
}

/** Installing, reading and uninstalling apps (decisions 9.3–9.5). */
export function createInstalls(deps: MarketplaceDeps, deprovisioning: Deprovisioning) {
  const { database, clock, random, organizations, config, cursors } = deps;

  async function insert(
    tx: Tx,
    context: CallerContext,
    orgUuid: string,
    slug: string,
    choice: InstallChoice,
  ): Promise<InstallView> {
    // Otherwise the install would outlive an organization that is being deleted; the caller's token does not either.
    if (!(await organizations.keep(tx, orgUuid))) throw errors.unauthorized();
    // Locked, so that nothing is installed after the response to its archiving.
    const app = await keepAppBySlug(tx, slug);
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
      planName: plan.name,
      planPriceCents: plan.price_cents,
      planCurrency: app.currency,
      planInterval: plan.interval,
      quantity: choice.quantity ?? 1,
      endpointUrl: null,
      paymentSource: plan.price_cents === 0 ? "free" : "direct",
      currentPeriodEnd: null,
      failureReason: null,
      installedBy: context.caller.userUuid,
      sandbox: context.caller.sandbox,
      step: "provision",
      stepEventId: newEventId(random),
      stepSince: at,
      stepDeadline: dateOf(clock, config.provisionDeadlineMs),
      acceptedAt: null,
      createdAt: at,
      updatedAt: at,
    });
    await tx.em.flush();
    const detail = `plan ${plan.plan_id}, quantity ${install.quantity}, ${deploymentMode}`;
    await addTimeline(tx, install.installId, at, "requested", detail);
    await recordInstallEvent(deps, tx, "install.requested", causedBy(context), install);
    await emitChanged(tx, install.installId);
    return { install, app };
  }

  return {
    /**
     * Installs a published app. The row, the audit event and the message that starts the workflow are one transaction.
     * @throws {unauthorized} when the caller's organization has been deleted meanwhile
     * @throws {app_not_found} when no such app is published
     * @throws {invalid_deployment_mode} when the app does not offer the mode, or offers several and none was chosen
     * @throws {invalid_plan} when the app has no such plan
     * @throws {already_installed} when the organization has a live install of it
     */
    async install(context: CallerContext, slug: string, choice: InstallChoice): Promise<InstallView> {
      const orgUuid = callerOrg(context.caller);
      try {
        return await context.transaction((tx) => insert(tx, context, orgUuid, slug, choice));
      } catch (error) {
        if (isUniqueViolation(error)) throw marketplaceErrors.alreadyInstalled({ cause: error });
        throw error;
      }
    },

    /** Installs by buyer, app and status, newest first; without timelines. */
    async list(filter: InstallFilter, page: Page): Promise<{ views: InstallView[]; nextCursor?: string } & Total> {
      const paging = pagingBy(cursors, ["installs", filter.orgUuid, filter.appId, filter.status], page);
      const { installs, ...total } = await store.installsWhere(database, filter, page, paging);
      return database.read(async (em) => {
        const apps = await appsByIds(
          em,
          installs.map((install) => install.appId),
        );
        const views = installs.flatMap((install) => {
          const app = apps.get(install.appId);
          return app === undefined ? [] : [{ install, app }];
        });
        return { views, ...total };
      });
    },

    /**
     * One install of the caller's organization with its timeline.
     * @throws {install_not_found} when the organization has no such install
     */
    read: ({ caller }: CallerContext, installId: string): Promise<InstallView> =>
      readInstall(database, installId, (install) => install.orgUuid === callerOrg(caller)),

    /**
     * One install of an app with its timeline, for the app's administrators.
     * @throws {install_not_found} when the app has no such install
     */
    readOfApp: (appId: string, installId: string): Promise<InstallView> =>
      readInstall(database, installId, (install) => install.appId === appId),

    /**
     * Requests to the publisher for an install of an app, newest first.
     * @throws {install_not_found} when the app has no such install
     */
    async calls(appId: string, installId: string): Promise<InstallCall[]> {
      await readInstall(database, installId, (install) => install.appId === appId);
      return callsOf(database, installId);
    },

    /**
     * Begins deprovisioning, in place of a provisioning in progress; changes nothing when it has begun already.
     * @throws {install_not_found} when the caller's organization has no such install
     * @throws {invalid_transition} when it is deprovisioned
     */
    async remove(context: CallerContext, installId: string): Promise<InstallView> {
      const orgUuid = callerOrg(context.caller);
      return context.transaction(async (tx) => {
        const install = await store.lockInstall(tx, installId);
        if (install === null || install.orgUuid !== orgUuid) throw marketplaceErrors.installNotFound();
        const app = await appById(tx.em, install.appId);
        if (app === null) throw marketplaceErrors.installNotFound();
        if (install.status !== "deprovisioning")
          await deprovisioning.begin(tx, causedBy(context), install, "asked for by the organization");
        return { install, app };
      });
    },
  };
}
