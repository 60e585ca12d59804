import type { Caller } from "../../platform/caller.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import { keepAdministrator } from "./admin-store.ts";
import type { MarketplaceDeps } from "./deps.ts";
import * as store from "./store.ts";

/** What callers are to apps. */
export function createStanding({
  database,
  makerOf,
}: Pick<MarketplaceDeps, "makerOf"> & { database: Pick<Database, "prepared"> }) {
  /** What the caller is to an app; `own`: it is their organization's, and they do not administer it. */
  async function standing(
    caller: Caller,
    appId: string,
  ): Promise<{ is: "admin" | "own"; orgUuid: string } | undefined> {
    const orgUuid = await store.ownerOf(database, appId.toLowerCase());
    if (orgUuid === undefined) return undefined;
    const inOrg = caller.orgUuid === orgUuid;
    const isAdmin =
      caller.isPlatformAdmin || caller.appAdmin.includes(appId.toLowerCase()) || (inOrg && caller.isOwner);
    if (isAdmin) return { is: "admin", orgUuid };
    return inOrg ? { is: "own", orgUuid } : undefined;
  }

  return {
    /**
     * What the caller is to the app: `admin` as owner of its organization, platform admin, or by a grant (the maker
     * has one); `own` as another member of its organization; undefined for everybody else (decisions 9.1).
     */
    standing: async (caller: Caller, appId: string): Promise<"admin" | "own" | undefined> =>
      (await standing(caller, appId))?.is,

    /** The app's organization, where the caller administers the app; undefined otherwise. */
    async administered(caller: Caller, appId: string): Promise<{ orgUuid: string } | undefined> {
      const found = await standing(caller, appId);
      return found?.is === "admin" ? { orgUuid: found.orgUuid } : undefined;
    },

    /** Whether the caller administers the app. */
    isAppAdmin: async (caller: Caller, appId: string): Promise<boolean> =>
      (await standing(caller, appId))?.is === "admin",

    /**
     * Judges in the transaction that writes whether the caller, who was an administrator of the app when they were
     * authenticated, still is; it stays so until the transaction ends (decisions 2.4). Platform admins and owners of
     * the app's organization are judged as callers. Throws `unauthorized`.
     */
    async keepAdministering(
      tx: Tx,
      caller: Caller,
      { appId, orgUuid }: { appId: string; orgUuid?: string },
    ): Promise<void> {
      if (caller.isPlatformAdmin || (caller.isOwner && caller.orgUuid === orgUuid)) return;
      const issued = caller.claims?.["ims"];
      const person = await makerOf(tx, caller);
      if (!(await keepAdministrator(tx, appId, person, typeof issued === "number" ? new Date(issued) : null)))
        throw errors.unauthorized();
    },
  };
}

/** Standing as the rest of the domain sees it. */
export type Standing = ReturnType<typeof createStanding>;
