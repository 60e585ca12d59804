import type { Caller } from "../../platform/caller.ts";
import type { CallerContext } from "../../platform/context.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import * as store from "./app-store.ts";
import { accessErrors } from "./errors.ts";
import { administers, canSeeApp } from "./rules.ts";

/** What callers may do with apps (decisions 9.1). */
export function createAppAccess(database: Pick<Database, "prepared" | "identifying">) {
  async function roleIn(
    caller: Caller,
    appId: string,
  ): Promise<{ role: "admin" | "own"; orgUuid: string } | undefined> {
    const orgUuid = await store.publisherOf(database, appId.toLowerCase());
    if (orgUuid === undefined) return undefined;
    if (administers(caller, { appId, orgUuid })) return { role: "admin", orgUuid };
    return caller.orgUuid === orgUuid ? { role: "own", orgUuid } : undefined;
  }

  return {
    /**
     * What the caller is to an app: `admin` as owner of its organization, platform admin, or by a grant (its maker has
     * one); `own` as another member of its organization; undefined for everybody else.
     */
    roleIn: async (caller: Caller, appId: string): Promise<"admin" | "own" | undefined> =>
      (await roleIn(caller, appId))?.role,

    /** The app's organization, where the caller administers the app; undefined otherwise. */
    async administered(caller: Caller, appId: string): Promise<{ orgUuid: string } | undefined> {
      const found = await roleIn(caller, appId);
      return found?.role === "admin" ? { orgUuid: found.orgUuid } : undefined;
    },

    /** Whether the caller administers the app. */
    isAdministrator: async (caller: Caller, appId: string): Promise<boolean> =>
      (await roleIn(caller, appId))?.role === "admin",

    /**
     * Checks again, in the transaction that writes, a caller who administered the app when they were authenticated;
     * they stay administrator until the transaction ends (decisions 2.4). Platform admins and owners of the app's
     * organization are checked with every other caller.
     * @throws {unauthorized} when the caller does not administer the app any more
     */
    async demandAdministrator(
      tx: Tx,
      caller: Caller,
      { appId, orgUuid }: { appId: string; orgUuid?: string },
    ): Promise<void> {
      if (caller.isPlatformAdmin || (caller.isOwner && caller.orgUuid === orgUuid)) return;
      const issued = caller.claims?.["ims"];
      const person = await personBehind(tx, caller);
      if (!(await store.isAdministrator(tx, appId, person, typeof issued === "number" ? new Date(issued) : null)))
        throw errors.unauthorized();
    },

    /** Apps that the holder of a token administers now. */
    ofToken: (token: store.AppsOfToken): Promise<string[]> => store.appsOfToken(database, token),

    /**
     * What the caller may do with an app, and the newest install of their organization.
     * @throws {app_not_found} when the caller may not see the app
     */
    async access(
      { caller }: CallerContext,
      appId: string,
    ): Promise<{ isAppAdmin: boolean; isOrgOwner: boolean; installStatus?: string; installId?: string }> {
      const app = await store.appWithInstall(database, appId, caller.orgUuid);
      if (app === undefined || !canSeeApp(caller, appId, app)) throw accessErrors.appNotFound();
      return {
        isAppAdmin: administers(caller, { appId, orgUuid: app.orgUuid }),
        isOrgOwner: caller.isOwner && caller.orgUuid === app.orgUuid,
        ...(app.installId !== null &&
          app.installStatus !== null && { installStatus: app.installStatus, installId: app.installId }),
      };
    },
  };
}

/**
 * The person a caller acts for: of an API key the person who made it, or the first of the keys it was made with;
 * undefined for a service identity, and for a key that one made.
 */
export function findPersonBehind(tx: Pick<Tx, "query">, caller: Caller): Promise<string | undefined> {
  if (caller.userUuid !== null) return Promise.resolve(caller.userUuid);
  return caller.principal.type === "api_key" ? store.makerOfKey(tx, caller.principal.id) : Promise.resolve(undefined);
}

/**
 * The person a caller acts for ({@link findPersonBehind}).
 * @throws {forbidden} when there is none
 */
export async function personBehind(tx: Pick<Tx, "query">, caller: Caller): Promise<string> {
  const person = await findPersonBehind(tx, caller);
  if (person === undefined) throw errors.forbidden({ message: "Only people, and keys that people made, do this." });
  return person;
}
