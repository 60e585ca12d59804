import { callerOrg } from "../../platform/caller.ts";
import type { Caller, RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Total } from "../../platform/db/counting.ts";
import type { Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import { newWebhookSecret } from "../../platform/outgoing/signature.ts";
import type { WebhookDeps } from "./deps.ts";
import { secretContext } from "./deps.ts";
import { Webhook } from "./entities.ts";
import { webhookErrors } from "./errors.ts";
import { MOST_WEBHOOKS, appEventsViolation, appIdViolation } from "./rules.ts";
import * as store from "./store.ts";
import type { Page, WebhookRow } from "./store.ts";

/** A webhook as it is asked for. */
export interface WebhookRequest {
  url: string;
  events: string[];
  scope: "org" | "app";
  /** Demanded for the scope `app`, and for that alone. */
  appId: string | undefined;
}

/** Changes to a webhook; absent members stay. */
export interface WebhookPatch {
  url: string | undefined;
  events: string[] | undefined;
  status: "enabled" | "disabled" | undefined;
}

/** Registering endpoints (decisions 11.1). Administrators see their organization's, app admins their apps'. */
export function createRegistration(deps: WebhookDeps) {
  const { database, clock, random, sealer, config } = deps;

  function checkUrl(url: string): void {
    const violation = deps.vetUrl(url);
    if (violation !== undefined) throw errors.validation({ fields: [{ ...violation, field: "url" }] });
  }

  function checkEvents(scope: "org" | "app", events: readonly string[]): void {
    const violation = scope === "app" ? appEventsViolation(events) : undefined;
    if (violation !== undefined) throw errors.validation({ fields: [violation] });
  }

  function mayTouch(caller: Caller, webhook: Webhook): boolean {
    if (webhook.scope === "app") return typeof webhook.appId === "string" && deps.administers(caller, webhook.appId);
    return caller.isAdmin && caller.orgUuid === webhook.orgUuid;
  }

  /**
   * Who is neither administrator nor app admin has no webhooks at all: 403. Answers the apps the caller administers.
   */
  async function demandPower(caller: Caller): Promise<string[]> {
    const apps = await deps.administeredApps(caller);
    if (!caller.isAdmin && apps.length === 0) throw webhookErrors.adminRequired();
    return apps;
  }

  /** The webhook if it is the caller's to touch; otherwise as if it did not exist. */
  function touchable(caller: Caller, webhook: Webhook | null): Webhook {
    if (webhook === null || webhook.endedAt !== null || !mayTouch(caller, webhook)) throw webhookErrors.notFound();
    return webhook;
  }

  /** The same, locked. */
  async function own(tx: Tx, caller: Caller, webhookId: string, lock = store.lockWebhook): Promise<Webhook> {
    if (!caller.isAdmin) await demandPower(caller);
    const appId = caller.appAdmin.length > 0 ? await store.appOf(tx, webhookId) : undefined;
    // Before the webhook: whoever tells an app's webhooks of a change has locked the app first.
    if (appId !== undefined && deps.administers(caller, appId)) await deps.keepAdministering(tx, caller, { appId });
    return touchable(caller, await lock(tx, webhookId));
  }

  const audited = (
    tx: Tx,
    type: Parameters<WebhookDeps["audit"]>[1]["type"],
    webhook: Webhook,
    caller: Caller,
    info: RequestInfo,
    more: Record<string, unknown> = {},
  ) =>
    deps.audit(tx, {
      type,
      orgUuid: webhook.orgUuid,
      caller,
      info,
      webhookId: webhook.webhookId,
      metadata: { webhook_id: webhook.webhookId, ...more },
    });

  return {
    own,

    /**
     * A new webhook; its secret is in this answer and never again. Errors: 400 validation_error, 401 unauthorized, 403
     * forbidden, 404 app_not_found, 409 conflict.
     */
    async create(
      caller: Caller,
      info: RequestInfo,
      request: WebhookRequest,
    ): Promise<{ webhook: Webhook; secret: string }> {
      const { scope } = request;
      checkUrl(request.url);
      const misplaced = appIdViolation(scope, request.appId);
      if (misplaced !== undefined) throw errors.validation({ fields: [misplaced] });
      checkEvents(scope, request.events);
      const app = request.appId === undefined ? undefined : await deps.administeredApp(caller, request.appId);
      if (request.appId !== undefined && app === undefined) throw webhookErrors.appNotFound();
      if (app === undefined && !caller.isAdmin) throw webhookErrors.adminRequired();
      const orgUuid = app?.orgUuid ?? callerOrg(caller);
      return database.transaction(async (tx) => {
        // What is made while its organization ends would outlive it.
        if (!(await deps.keepOrg(tx, orgUuid)))
          throw app === undefined ? errors.unauthorized() : webhookErrors.appNotFound();
        if (app !== undefined && request.appId !== undefined)
          await deps.keepAdministering(tx, caller, { appId: request.appId, orgUuid });
        if (!(await store.hasRoom(tx, orgUuid, MOST_WEBHOOKS))) throw webhookErrors.tooMany();
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
        await audited(tx, "webhook.created", webhook, caller, info, { scope, events: request.events });
        return { webhook, secret };
      }, caller);
    },

    /** Webhooks the caller may touch, newest first. */
    async list(caller: Caller, page: Page): Promise<{ webhooks: WebhookRow[] } & Total> {
      const apps = await demandPower(caller);
      return store.webhooksOf(database, caller.isAdmin ? caller.orgUuid : null, apps, page);
    },

    /** One webhook. Error: 404 not_found. */
    async read(caller: Caller, webhookId: string): Promise<Webhook> {
      if (!caller.isAdmin) await demandPower(caller);
      return touchable(caller, await database.read((em) => store.webhookOf(em, webhookId)));
    },

    /** Changes a webhook; disabling fails what is open. Errors: 404 not_found, 400 validation_error. */
    update: (caller: Caller, info: RequestInfo, webhookId: string, patch: WebhookPatch): Promise<Webhook> =>
      database.transaction(async (tx) => {
        const webhook = await own(tx, caller, webhookId);
        const at = dateOf(clock);
        if (patch.url !== undefined) checkUrl(patch.url);
        if (patch.events !== undefined) checkEvents(webhook.scope, patch.events);
        webhook.url = patch.url ?? webhook.url;
        webhook.events = patch.events ?? webhook.events;
        webhook.updatedAt = at;
        if (patch.status === "enabled" && webhook.status === "disabled") webhook.enable(at);
        if (patch.status === "disabled" && webhook.status === "enabled") webhook.disable(at);
        await audited(tx, "webhook.updated", webhook, caller, info);
        return webhook;
      }, caller),

    /** Deletes a webhook and all but the attempt in flight. Error: 404 not_found. */
    remove: (caller: Caller, info: RequestInfo, webhookId: string): Promise<void> =>
      database.transaction(async (tx) => {
        const webhook = await own(tx, caller, webhookId);
        webhook.remove(dateOf(clock));
        await audited(tx, "webhook.deleted", webhook, caller, info);
      }, caller),

    /** A new secret; both sign until the overlap ends, a second rotation drops the oldest. Error: 404 not_found. */
    rotateSecret: (
      caller: Caller,
      info: RequestInfo,
      webhookId: string,
    ): Promise<{ secret: string; oldSecretExpiresAt: Date }> =>
      database.transaction(async (tx) => {
        const webhook = await own(tx, caller, webhookId);
        const secret = newWebhookSecret(random);
        const oldSecretExpiresAt = dateOf(clock, config.secretOverlapMs);
        webhook.rotate(sealer.seal(secret, secretContext(webhookId)), dateOf(clock), oldSecretExpiresAt);
        await audited(tx, "key.rotated", webhook, caller, info, { kind: "webhook_secret" });
        return { secret, oldSecretExpiresAt };
      }, caller),
  };
}

/** Registration as the rest of the domain sees it. */
export type Registration = ReturnType<typeof createRegistration>;
