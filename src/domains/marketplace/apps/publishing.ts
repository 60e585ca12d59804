import { callerOrg } from "../../../platform/caller.ts";
import { dateOf } from "../../../platform/clock.ts";
import type { CallerContext } from "../../../platform/context.ts";
import { presentTime } from "../../../platform/db/time.ts";
import type { Total } from "../../../platform/db/total.ts";
import type { Tx } from "../../../platform/db/types.ts";
import { errors } from "../../../platform/errors.ts";
import { isCurrency } from "../../../platform/iso-codes.ts";
import { certain } from "../../../platform/narrow.ts";
import { newWebhookSecret } from "../../../platform/outgoing/signature.ts";
import { findPersonBehind } from "../../access/index.ts";
import { causedBy, EVENTS } from "../../event-catalogue/index.ts";
import type { MarketplaceDeps, Page } from "../deps.ts";
import { secretContext } from "../deps.ts";
import { marketplaceErrors } from "../errors.ts";
import { insertGrant } from "./admin-store.ts";
import { lockAdministeredApp } from "./administered-app.ts";
import { App } from "./entities.ts";
import { defaultPlan, nameViolation, plansAfter, plansViolation, slugViolation, storedName } from "./rules.ts";
import type { AppPlan } from "./rules.ts";
import * as store from "./store.ts";
import type { AppFilter } from "./store.ts";

/** The description of an app by its publisher; the slug never changes and is given separately. */
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

/** An app with the name of the organization that publishes it. */
export interface NamedApp {
  app: App;
  publisher: string;
}

type ChangeEvent = "app.updated" | "app.published" | "app.rejected" | "app.archived";

/** Maximum drafts of an organization (decisions 9.1). */
const MAX_DRAFTS = 200;

/** Publishing apps and deciding on drafts (decisions 9.1). */
export function createPublishing(deps: MarketplaceDeps) {
  const { database, clock, random, sealer, outgoing, events, organizations } = deps;

  /**
   * Cross-field validation, which the contract's field rules cannot express; reports every violation at once.
   * @throws {validation_error} when there is any
   */
  function validate({ name, currency, provisionWebhook, plans }: Partial<AppDraft>, slug?: string): void {
    const url = provisionWebhook === undefined ? undefined : outgoing.vetUrl(provisionWebhook);
    const fields = [
      name === undefined ? undefined : nameViolation(name),
      slug === undefined ? undefined : slugViolation(slug),
      currency === undefined || isCurrency(currency)
        ? undefined
        : { field: "currency", code: "unknown", message: "must be a currency of ISO 4217, such as usd" },
      url && { ...url, field: "provision_webhook" },
      plansViolation(plans ?? []),
    ].filter((violation) => violation !== undefined);
    if (fields.length > 0) throw errors.validation({ fields });
  }

  /** @throws {conflict} when the organization has the maximum of drafts */
  async function demandDraftLimit(tx: Tx, orgUuid: string): Promise<void> {
    if ((await store.countDrafts(tx, orgUuid, MAX_DRAFTS)) >= MAX_DRAFTS) throw marketplaceErrors.tooManyDrafts();
  }

  function change(
    context: CallerContext,
    appId: string,
    type: ChangeEvent,
    apply: (app: App, at: Date) => void,
  ): Promise<NamedApp> {
    return context.transaction(async (tx) => {
      const app = await lockAdministeredApp(deps, tx, context.caller, appId);
      const before = app.status;
      apply(app, dateOf(clock));
      if (app.status === "draft" && before !== "draft") await demandDraftLimit(tx, app.orgUuid);
      const data = { app_id: app.appId, slug: app.slug, status: app.status };
      const event = { by: causedBy(context), orgUuid: app.orgUuid, resourceId: app.appId, metadata: data };
      if (type === "app.published" || type === "app.archived")
        await events.emit(tx, EVENTS[type], { ...event, data, appId: app.appId });
      else await events.emit(tx, EVENTS[type], event);
      return { app, publisher: certain(await organizations.nameOf(tx, app.orgUuid), "name of an organization") };
    });
  }

  return {
    /**
     * Creates a draft. Its webhook secret is returned only here. App administrators are people: an app that a service
     * identity published is administered by the owners of its organization.
     * @throws {validation_error} when the draft or the slug is invalid
     * @throws {unauthorized} when the caller's organization has been deleted meanwhile
     * @throws {slug_taken} when the slug is or was in use
     * @throws {conflict} when the organization has 200 drafts
     */
    async publish(context: CallerContext, slug: string, draft: AppDraft): Promise<{ app: App; secret: string }> {
      const orgUuid = callerOrg(context.caller);
      validate(draft, slug);
      return context.transaction(async (tx) => {
        // Otherwise the app would outlive an organization that is being deleted; the caller's token does not either.
        if (!(await organizations.keep(tx, orgUuid))) throw errors.unauthorized();
        await demandDraftLimit(tx, orgUuid);
        if (!(await store.claimSlug(tx, slug))) throw marketplaceErrors.slugTaken();
        const at = await presentTime(tx, clock);
        const appId = random.uuid();
        const creator = await findPersonBehind(tx, context.caller);
        const secret = newWebhookSecret(random);
        const app = tx.em.create(App, {
          ...draft,
          name: storedName(draft.name),
          appId,
          orgUuid,
          slug,
          plans: draft.plans.length > 0 ? draft.plans : [defaultPlan(draft.basePriceCents)],
          webhookSecret: sealer.seal(secret, secretContext(appId)),
          status: "draft",
          createdBy: creator ?? null,
          keyId: random.uuid(),
          keyRotatedAt: null,
          rejectionReason: null,
          publishedAt: null,
          createdAt: at,
          updatedAt: at,
        });
        await tx.em.flush();
        if (creator !== undefined)
          await insertGrant(tx, {
            grantId: random.uuid(),
            appId,
            userUuid: creator,
            grantedBy: creator,
            createdAt: at,
          });
        await events.emit(tx, EVENTS["app.created"], {
          by: causedBy(context),
          orgUuid,
          resourceId: appId,
          metadata: { app_id: appId, slug, status: app.status },
        });
        return { app, secret };
      });
    },

    /**
     * Changes an app's description.
     * @throws {validation_error} when the patch is invalid
     * @throws {app_not_found} when there is no such app
     * @throws {conflict} when a rejected app becomes a draft again and the organization has 200 drafts
     */
    async update(context: CallerContext, appId: string, patch: Partial<AppDraft>): Promise<NamedApp> {
      validate(patch);
      return change(context, appId, "app.updated", (app, at) => {
        const plans =
          patch.plans ?? plansAfter(app.plans, app.basePriceCents, patch.basePriceCents ?? app.basePriceCents);
        Object.assign(app, patch, { plans }, patch.name !== undefined && { name: storedName(patch.name) });
        app.edited(at);
      });
    },

    /**
     * Publishes a draft.
     * @throws {app_not_found} when there is no such app
     * @throws {invalid_transition} when it is no draft
     */
    approve: (context: CallerContext, appId: string): Promise<NamedApp> =>
      change(context, appId, "app.published", (app, at) => app.approve(at)),

    /**
     * Rejects a draft.
     * @throws {app_not_found} when there is no such app
     * @throws {invalid_transition} when it is no draft
     */
    reject: (context: CallerContext, appId: string, reason: string | null): Promise<NamedApp> =>
      change(context, appId, "app.rejected", (app, at) => app.reject(at, reason)),

    /**
     * Withdraws an app from the marketplace.
     * @throws {app_not_found} when there is no such app
     * @throws {invalid_transition} when it is archived already
     */
    archive: (context: CallerContext, appId: string): Promise<NamedApp> =>
      change(context, appId, "app.archived", (app, at) => app.archive(at)),

    /** Apps by publisher and status, newest first, with the names of their publishers. */
    async list(filter: AppFilter, page: Page): Promise<{ apps: NamedApp[] } & Total> {
      const { apps, ...total } = await store.appsWhere(database, filter, page);
      const nameOf = await organizations.namesOf([...new Set(apps.map(({ orgUuid }) => orgUuid))]);
      return { apps: apps.map((app) => ({ app, publisher: nameOf(app.orgUuid) })), ...total };
    },
  };
}
