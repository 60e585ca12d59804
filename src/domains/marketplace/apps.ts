import type { Caller, RequestInfo } from "../../platform/caller.ts";
import { callerOrg } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Total } from "../../platform/db/counting.ts";
import type { Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import { newWebhookSecret } from "../../platform/outgoing/signature.ts";
import { insertGrant } from "./admin-store.ts";
import { personBehind } from "../access/index.ts";
import type { MarketplaceDeps } from "./deps.ts";
import { secretContext } from "./deps.ts";
import { App } from "./entities.ts";
import { marketplaceErrors } from "./errors.ts";
import type { MarketplaceAuditType } from "./events.ts";
import { defaultPlan, plansAfter, plansViolation, slugViolation } from "./rules.ts";
import type { AppPlan } from "./rules.ts";
import * as store from "./store.ts";
import type { AppFilter, Page } from "./store.ts";

/** What a publisher says of an app; `slug` counts at publication only. */
export interface AppDraft {
  name: string;
  description: string;
  deploymentModes: string[];
  pricingModel: string;
  basePriceCents: number;
  currency: string;
  provisionWebhook: string;
  plans: AppPlan[];
}

/** Drafts an organization may have at a time (decisions 9.1). */
const MOST_DRAFTS = 200;

/** An app with the name of the organization that publishes it. */
export interface NamedApp {
  app: App;
  publisher: string;
}

/** Publishing and deciding on apps (decisions 9.1). */
export function createApps(deps: MarketplaceDeps) {
  const { database, clock, random, sealer } = deps;

  function audited(tx: Tx, type: MarketplaceAuditType, app: App, caller: Caller, info: RequestInfo): Promise<void> {
    return deps.audit(tx, {
      type,
      orgUuid: app.orgUuid,
      caller,
      info,
      resourceType: "app",
      resourceId: app.appId,
      metadata: { app_id: app.appId, slug: app.slug, status: app.status },
    });
  }

  /** What the contract's field rules cannot see; every problem at once. Error: 400 validation_error. */
  function check({ name, provisionWebhook, plans }: Partial<AppDraft>, slug?: string): void {
    const url = provisionWebhook === undefined ? undefined : deps.vetUrl(provisionWebhook);
    const fields = [
      name?.trim() === "" ? { field: "name", code: "required", message: "must not be blank" } : undefined,
      slug === undefined ? undefined : slugViolation(slug),
      url && { ...url, field: "provision_webhook" },
      plansViolation(plans ?? []),
    ].filter((violation) => violation !== undefined);
    if (fields.length > 0) throw errors.validation({ fields });
  }

  /** Refuses one draft more than an organization may have. Error: 409 conflict. */
  async function demandRoom(tx: Tx, orgUuid: string): Promise<void> {
    if ((await store.countDrafts(tx, orgUuid, MOST_DRAFTS)) >= MOST_DRAFTS) throw marketplaceErrors.tooManyDrafts();
  }

  function change(
    appId: string,
    caller: Caller,
    info: RequestInfo,
    type: MarketplaceAuditType,
    apply: (app: App, at: Date) => void,
  ): Promise<App> {
    return database.transaction(async (tx) => {
      const app = await store.lockApp(tx, appId);
      if (app === null) throw marketplaceErrors.appNotFound();
      await deps.access.apps.demandAdministrator(tx, caller, app);
      const before = app.status;
      apply(app, dateOf(clock));
      if (app.status === "draft" && before !== "draft") await demandRoom(tx, app.orgUuid);
      await audited(tx, type, app, caller, info);
      return app;
    }, caller);
  }

  return {
    /**
     * Makes a draft; the provision secret is in this answer and never again. Errors: 400 validation_error, 401
     * unauthorized, 409 slug_taken, conflict.
     */
    async publish(
      caller: Caller,
      info: RequestInfo,
      slug: string,
      draft: AppDraft,
    ): Promise<{ app: App; secret: string }> {
      const orgUuid = callerOrg(caller);
      check(draft, slug);
      return database.transaction(async (tx) => {
        // What is made while its organization ends would outlive it; so would not the caller's token.
        if (!(await deps.keepOrg(tx, orgUuid))) throw errors.unauthorized();
        await demandRoom(tx, orgUuid);
        if (!(await store.claimSlug(tx, slug))) throw marketplaceErrors.slugTaken();
        const at = dateOf(clock);
        const appId = random.uuid();
        const maker = await personBehind(tx, caller);
        const secret = newWebhookSecret(random);
        const app = tx.em.create(App, {
          ...draft,
          appId,
          orgUuid,
          slug,
          plans: draft.plans.length > 0 ? draft.plans : [defaultPlan(draft.basePriceCents)],
          webhookSecret: sealer.seal(secret, secretContext(appId)),
          status: "draft",
          createdBy: maker,
          keyId: random.uuid(),
          keyRotatedAt: null,
          rejectionReason: null,
          publishedAt: null,
          createdAt: at,
          updatedAt: at,
        });
        await tx.em.flush();
        await insertGrant(tx, {
          grant_id: random.uuid(),
          app_id: appId,
          user_uuid: maker,
          granted_by: maker,
          created_at: at,
        });
        await audited(tx, "app.created", app, caller, info);
        return { app, secret };
      }, caller);
    },

    /** Changes what is said of an app; its slug stays. Errors: 404 app_not_found, 400 validation_error. */
    update(caller: Caller, info: RequestInfo, appId: string, patch: Partial<AppDraft>): Promise<App> {
      check(patch);
      return change(appId, caller, info, "app.updated", (app, at) => {
        const plans =
          patch.plans ?? plansAfter(app.plans, app.basePriceCents, patch.basePriceCents ?? app.basePriceCents);
        Object.assign(app, patch, { plans });
        app.edited(at);
      });
    },

    /** Makes a draft public. Errors: 404 app_not_found, 409 invalid_transition. */
    approve: (caller: Caller, info: RequestInfo, appId: string) =>
      change(appId, caller, info, "app.published", (app, at) => app.approve(at)),
    /** Refuses a draft. Errors: 404 app_not_found, 409 invalid_transition. */
    reject: (caller: Caller, info: RequestInfo, appId: string, reason: string | null) =>
      change(appId, caller, info, "app.rejected", (app, at) => app.reject(at, reason)),
    /** Takes an app off the marketplace. Errors: 404 app_not_found, 409 invalid_transition. */
    archive: (caller: Caller, info: RequestInfo, appId: string) =>
      change(appId, caller, info, "app.archived", (app, at) => app.archive(at)),

    /** Apps by publisher and status, newest first, with the names of their publishers. */
    async list(filter: AppFilter, page: Page): Promise<{ apps: NamedApp[] } & Total> {
      const { apps, ...total } = await database.read((em) => store.appsWhere(em, filter, page));
      const names = await deps.orgNames([...new Set(apps.map(({ orgUuid }) => orgUuid))]);
      return { apps: apps.map((app) => ({ app, publisher: names.get(app.orgUuid) ?? "" })), ...total };
    },

    /** Name of the organization that publishes an app. */
    publisherName: async (app: App): Promise<string> => (await deps.orgNames([app.orgUuid])).get(app.orgUuid) ?? "",
  };
}
