import { callerOrg } from "../../platform/caller.ts";
import type { Caller } from "../../platform/caller.ts";
import type { Tx } from "../../platform/db/types.ts";
import { administers } from "../access/index.ts";
import type { WebhookDeps } from "./deps.ts";
import type { Webhook } from "./entities.ts";
import { webhookErrors } from "./errors.ts";
import { mayManage } from "./rules.ts";
import * as store from "./store.ts";

/** @throws {forbidden} when the caller is neither administrator of their organization nor of any app */
export function demandPower(caller: Caller): void {
  if (!caller.isAdmin && caller.appAdmin.length === 0) throw webhookErrors.adminRequired();
}

/**
 * Returns the webhook that the caller may manage.
 * @throws {not_found} when there is none: a webhook of others looks like one that does not exist
 */
export function demandManageable(caller: Caller, webhook: Webhook | null): Webhook {
  if (webhook === null || webhook.endedAt !== null || !mayManage(caller, webhook)) throw webhookErrors.notFound();
  return webhook;
}

/**
 * Locks a webhook that the caller may manage; they keep that power until the transaction ends.
 * @throws {forbidden} when the caller is neither administrator of their organization nor of any app
 * @throws {unauthorized} when the caller no longer has their power, or no longer administers the app
 * @throws {not_found} when there is no such webhook
 */
export async function lockManageable(
  { access, organizations }: Pick<WebhookDeps, "access" | "organizations">,
  tx: Tx,
  caller: Caller,
  webhookId: string,
  lock: typeof store.lockWebhook = store.lockWebhook,
): Promise<Webhook> {
  demandPower(caller);
  // Before the caller: the end of their organization locks its webhooks first, and its sessions and keys afterwards.
  await organizations.keep(tx, callerOrg(caller));
  // Before the webhook: a change of the caller's membership sends its event to webhooks when it has locked the caller.
  await tx.reauthorize("keep");
  const app = caller.appAdmin.length > 0 ? await store.appOf(tx, webhookId) : undefined;
  // Before the webhook: transactions that send an event of the app to its webhooks have locked the app first.
  if (app !== undefined && administers(caller, app)) await access.apps.demandAdministrator(tx, caller, app);
  return demandManageable(caller, await lock(tx, webhookId));
}
