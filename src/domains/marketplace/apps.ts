import type { Caller, RequestInfo } from "../../platform/caller.ts";
import { callerOrg } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import { newWebhookSecret } from "../../platform/outgoing/signature.ts";
import { insertGrant } from "./admin-store.ts";
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

/** Publishing and deciding on apps (decisions 9.1). */
export function createApps(deps: MarketplaceDeps) {
  const { database, clock, random, sealer } = deps;

  function audited(tx: Tx, type: MarketplaceAuditType, app: App, caller: Caller, info: RequestInfo): Promise<void> {
    return deps.audit(tx, { type, orgUuid: app.orgUuid, caller, info, resourceType: "app", resourceId: app.appId, metadata: { app_id: app.appId, slug: app.slug, status: app.status } });
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

  function change(appId: string, caller: Caller, info: RequestInfo, type: MarketplaceAuditType, apply: (app: App, at: Date) => void): Promise<App> {
    return database.transaction(async (tx) => {
      const app = await store.lockApp(tx, appId);
      if (app === null) throw marketplaceErrors.appNotFound();
      apply(app, dateOf(clock));
      await audited(tx, type, app, caller, info);
      return app;
    }, info);
  }

  /** The app's organization, where the caller administers the app; undefined otherwise. */
  async function administered(caller: Caller, appId: string): Promise<{ orgUuid: string } | undefined> {
    const app = await database.read((em) => store.appById(em, appId));
    if (app === null) return undefined;
    const inOrg = caller.orgUuid === app.orgUuid;
    const isMaker = caller.userUuid === app.createdBy && !app.keyRotatedAt && Number(caller.claims?.["ims"]) <= app.createdAt.getTime();
    const yes = caller.isPlatformAdmin || caller.appAdmin.includes(appId) || (inOrg && (caller.isOwner || isMaker));
    return yes ? { orgUuid: app.orgUuid } : undefined;
  }

  return {
    /** Makes a draft; the provision secret is in this answer and never again. Errors: 400 validation_error, 401 unauthorized, 409 slug_taken. */
    async publish(caller: Caller, info: RequestInfo, slug: string, draft: AppDraft): Promise<{ app: App; secret: string }> {
      const orgUuid = callerOrg(caller);
      check(draft, slug);
      return database.transaction(async (tx) => {
        // What is made while its organization ends would outlive it; so would not the caller's token.
        if (!(await deps.keepOrg(tx, orgUuid))) throw errors.unauthorized();
        if (!(await store.claimSlug(tx, slug))) throw marketplaceErrors.slugTaken();
        const at = dateOf(clock);
        const appId = random.uuid();
        const maker = await deps.makerOf(tx, caller);
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
        await insertGrant(tx, { grant_id: random.uuid(), app_id: appId, user_uuid: maker, granted_by: maker, created_at: at });
        await audited(tx, "app.created", app, caller, info);
        return { app, secret };
      }, caller);
    },

    /** Changes what is said of an app; its slug stays. Errors: 404 app_not_found, 400 validation_error. */
    update(caller: Caller, info: RequestInfo, appId: string, patch: Partial<AppDraft>): Promise<App> {
      check(patch);
      return change(appId, caller, info, "app.updated", (app, at) => {
        const plans = patch.plans ?? plansAfter(app.plans, app.basePriceCents, patch.basePriceCents ?? app.basePriceCents);
        Object.assign(app, patch, { plans });
        app.edited(at);
      });
    },

    /** Makes a draft public. Errors: 404 app_not_found, 409 invalid_transition. */
    approve: (caller: Caller, info: RequestInfo, appId: string) => change(appId, caller, info, "app.published", (app, at) => app.approve(at)),
    /** Refuses a draft. Errors: 404 app_not_found, 409 invalid_transition. */
    reject: (caller: Caller, info: RequestInfo, appId: string, reason: string | null) => change(appId, caller, info, "app.rejected", (app, at) => app.reject(at, reason)),
    /** Takes an app off the marketplace. Errors: 404 app_not_found, 409 invalid_transition. */
    archive: (caller: Caller, info: RequestInfo, appId: string) => change(appId, caller, info, "app.archived", (app, at) => app.archive(at)),

    /** Apps by publisher and status, newest first. */
    list: (filter: AppFilter, page: Page) => database.read((em) => store.appsWhere(em, filter, page)),

    /** Name of the organization that publishes an app. */
    publisherName: (app: App) => database.transaction((tx) => deps.orgName(tx, app.orgUuid)),

    administered,
    /**
     * Whether the caller administers the app: owner of its organization, platform admin, a grant in the token, or
     * the maker whose token is older than the app (decisions 9.1).
     */
    isAppAdmin: async (caller: Caller, appId: string): Promise<boolean> => (await administered(caller, appId)) !== undefined,

    /** Ids of the apps the caller administers by the token, as owner of their organization, or as maker with an older token. */
    async administeredIds(caller: Caller): Promise<string[]> {
      const { orgUuid, userUuid } = caller;
      const issuedAt = Number(caller.claims?.["ims"]);
      const live = await database.transaction(async (tx) => {
        if (orgUuid === null) return [];
        if (caller.isOwner) return store.publishedBy(tx, orgUuid);
        return userUuid === null || Number.isNaN(issuedAt) ? [] : store.madeSince(tx, orgUuid, userUuid, issuedAt);
      });
      return [...new Set([...caller.appAdmin, ...live])];
    },
  };
}
