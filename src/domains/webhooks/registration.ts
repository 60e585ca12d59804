import { callerOrg } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import type { Listed } from "../../platform/db/list.ts";
import { databaseTime } from "../../platform/db/time.ts";
import type { Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import { newWebhookSecret } from "../../platform/outgoing/signature.ts";
import { causedBy, EVENTS, wakeRetries } from "../event-catalogue/index.ts";
import type { WebhookDeps } from "./deps.ts";
import { secretContext } from "./deps.ts";
import { Webhook } from "./entities.ts";
import { webhookErrors } from "./errors.ts";
import { demandManageable, demandPower, lockManageable } from "./power.ts";
import { bringForward } from "./queue-store.ts";
import { appEventsViolation, appIdViolation, MAX_APP_WEBHOOKS, MAX_WEBHOOKS } from "./rules.ts";
import * as store from "./store.ts";
import type { Page } from "../../platform/db/paging.ts";
import type { WebhookRow } from "./store.ts";

/** A webhook to create. */
export interface WebhookRequest {
  url: string;
  events: string[];
  scope: "org" | "app";
  /** Required with the scope `app`, and allowed only there. */
  appId: string | undefined;
}

/** Changes to a webhook; undefined members remain as they are. */
export interface WebhookPatch {
  url: string | undefined;
  events: string[] | undefined;
  status: "enabled" | "disabled" | undefined;
}

/**
 * Managing webhooks (decisions 11.1). Administrators manage those of their organization, administrators of an app those
 * of the app.
 */
export function createRegistration(deps: WebhookDeps) {
  const { database, clock, random, sealer, outgoing, events, organizations, access, config } = deps;

  function validateUrl(url: string): void {
    const violation = outgoing.vetUrl(url);
    if (violation !== undefined) throw errors.validation({ fields: [{ ...violation, field: "url" }] });
  }

  function validateEvents(scope: "org" | "app", types: readonly string[]): void {
    const violation = scope === "app" ? appEventsViolation(types) : undefined;
    if (violation !== undefined) throw errors.validation({ fields: [violation] });
  }

  /** Changes the URL. Failures of the former endpoint no longer count: what waits for its next attempt goes out now. */
  async function moveTo(tx: Tx, webhook: Webhook, url: string, at: Date): Promise<void> {
    webhook.url = url;
    if (webhook.status === "disabled" || webhook.failingSince === null) return;
    const { brought, more } = await bringForward(tx, webhook.webhookId, [], databaseTime(clock));
    webhook.failingSince = more ? at : null;
    if (brought > 0) await wakeRetries(tx, webhook.webhookId);
  }

  return {
    /**
     * Creates a webhook. Its signing secret is returned only here.
     * @throws {validation_error} when the URL, the events or the app id is invalid
     * @throws {app_not_found} when the caller does not administer the app
     * @throws {forbidden} when the caller is no administrator of their organization
     * @throws {unauthorized} when the caller's power has ended meanwhile
     * @throws {conflict} when the organization has 1,000 webhooks, or its apps have 500 of them
     */
    async create(context: CallerContext, request: WebhookRequest): Promise<{ webhook: Webhook; secret: string }> {
      const { caller } = context;
      const { scope } = request;
      validateUrl(request.url);
      const misplaced = appIdViolation(scope, request.appId);
      if (misplaced !== undefined) throw errors.validation({ fields: [misplaced] });
      validateEvents(scope, request.events);
      const app = request.appId === undefined ? undefined : await access.apps.administered(caller, request.appId);
      if (request.appId !== undefined && app === undefined) throw webhookErrors.appNotFound();
      if (app === undefined && !caller.isAdmin) throw webhookErrors.adminRequired();
      const orgUuid = app?.orgUuid ?? callerOrg(caller);
      return context.transaction(async (tx) => {
        // Otherwise the webhook would outlive an organization that is being deleted.
        if (!(await organizations.keep(tx, orgUuid)))
          throw app === undefined ? errors.unauthorized() : webhookErrors.appNotFound();
        if (request.appId !== undefined)
          await access.apps.demandAdministrator(tx, caller, { appId: request.appId, orgUuid });
        const { all, ofApps } = await store.countWebhooks(tx, orgUuid);
        if (all >= MAX_WEBHOOKS) throw webhookErrors.tooMany();
        if (app !== undefined && ofApps >= MAX_APP_WEBHOOKS) throw webhookErrors.tooManyOfApps();
        const [at, secret, webhookId] = [dateOf(clock), newWebhookSecret(random), random.uuid()];
        const webhook = tx.em.create(Webhook, {
          webhookId,
          orgUuid,
          scope,
          appId: request.appId ?? null,
          url: request.url,
          events: request.events,
          status: "enabled",
          secret: sealer.seal(secret, secretContext(webhookId)),
          oldSecret: null,
          oldSecretExpiresAt: null,
          failingSince: null,
          endedAt: null,
          generation: 0,
          clearing: null,
          createdAt: at,
          updatedAt: at,
        });
        await events.emit(tx, EVENTS["webhook.created"], {
          by: causedBy(context),
          orgUuid,
          resourceId: webhookId,
          metadata: { webhook_id: webhookId, scope, events: request.events },
        });
        return { webhook, secret };
      });
    },

    /**
     * Webhooks that the caller may manage, newest first.
     * @throws {forbidden} when the caller is neither administrator of their organization nor of any app
     */
    async list({ caller }: CallerContext, page: Page): Promise<Listed<WebhookRow>> {
      demandPower(caller);
      const { orgUuid, appAdmin: appIds } = caller;
      const managed = { orgUuid: caller.isAdmin ? orgUuid : null, appIds, publisher: caller.isOwner ? orgUuid : null };
      return store.webhooksOf(database, managed, page);
    },

    /**
     * One webhook.
     * @throws {forbidden} when the caller is neither administrator of their organization nor of any app
     * @throws {not_found} when there is no such webhook
     */
    async read({ caller }: CallerContext, webhookId: string): Promise<Webhook> {
      demandPower(caller);
      return demandManageable(caller, await database.read((em) => store.webhookOf(em, webhookId)));
    },

    /**
     * Changes a webhook. Disabling it fails its open deliveries.
     * @throws {not_found} when there is no such webhook
     * @throws {validation_error} when the URL or the events are invalid
     */
    update: async (context: CallerContext, webhookId: string, patch: WebhookPatch): Promise<Webhook> => {
      if (patch.url !== undefined) validateUrl(patch.url);
      return context.transaction(async (tx) => {
        const webhook = await lockManageable(deps, tx, context.caller, webhookId);
        const at = dateOf(clock);
        if (patch.events !== undefined) validateEvents(webhook.scope, patch.events);
        if (patch.url !== undefined && patch.url !== webhook.url) await moveTo(tx, webhook, patch.url, at);
        webhook.events = patch.events ?? webhook.events;
        webhook.updatedAt = at;
        if (patch.status === "enabled" && webhook.status === "disabled") webhook.enable(at);
        if (patch.status === "disabled" && webhook.status === "enabled") webhook.disable(at);
        await events.emit(tx, EVENTS["webhook.updated"], {
          by: causedBy(context),
          orgUuid: webhook.orgUuid,
          resourceId: webhookId,
          metadata: { webhook_id: webhookId },
        });
        return webhook;
      });
    },

    /**
     * Deletes a webhook. Only attempts in flight are still made.
     * @throws {not_found} when there is no such webhook
     */
    remove: (context: CallerContext, webhookId: string): Promise<void> =>
      context.transaction(async (tx) => {
        const webhook = await lockManageable(deps, tx, context.caller, webhookId);
        webhook.remove(dateOf(clock));
        await events.emit(tx, EVENTS["webhook.deleted"], {
          by: causedBy(context),
          orgUuid: webhook.orgUuid,
          resourceId: webhookId,
          metadata: { webhook_id: webhookId },
        });
      }),

    /**
     * Replaces a webhook's secret. Both secrets sign until the overlap ends; another rotation drops the older one.
     * @throws {not_found} when there is no such webhook
     */
    rotateSecret: (context: CallerContext, webhookId: string): Promise<{ secret: string; oldSecretExpiresAt: Date }> =>
      context.transaction(async (tx) => {
        const webhook = await lockManageable(deps, tx, context.caller, webhookId);
        const secret = newWebhookSecret(random);
        const oldSecretExpiresAt = dateOf(clock, config.secretOverlapMs);
        webhook.rotate(sealer.seal(secret, secretContext(webhook.webhookId)), dateOf(clock), oldSecretExpiresAt);
        await events.emit(tx, EVENTS["webhook.secret_rotated"], {
          by: causedBy(context),
          orgUuid: webhook.orgUuid,
          resourceId: webhookId,
          metadata: { webhook_id: webhookId, kind: "webhook_secret" },
        });
        return { secret, oldSecretExpiresAt };
      }),
  };
}

/** Managing webhooks, as the rest of the domain uses it. */
export type Registration = ReturnType<typeof createRegistration>;
