import type { Caller } from "../../../platform/caller.ts";
import type { Tx } from "../../../platform/db/types.ts";
import type { MarketplaceDeps } from "../deps.ts";
import { marketplaceErrors } from "../errors.ts";
import type { App } from "./entities.ts";
import { lockApp } from "./store.ts";

/**
 * Locks an app that the caller administers; they remain its administrator until the transaction ends.
 * @throws {app_not_found} when there is no such app
 * @throws {unauthorized} when the caller no longer administers it
 */
export async function lockAdministeredApp(
  { access }: Pick<MarketplaceDeps, "access">,
  tx: Tx,
  caller: Caller,
  appId: string,
): Promise<App> {
  const app = await lockApp(tx, appId);
  if (app === null) throw marketplaceErrors.appNotFound();
  await access.apps.demandAdministrator(tx, caller, app);
  return app;
}
