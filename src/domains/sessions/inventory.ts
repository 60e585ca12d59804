import { dateOf } from "../../platform/clock.ts";
import { pagingBy } from "../../platform/cursors.ts";
import type { Cursors } from "../../platform/cursors.ts";
import type { CallerContext } from "../../platform/context.ts";
import type { Total } from "../../platform/db/total.ts";
import type { Page } from "../../platform/db/paging.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import type { ServiceError } from "../../platform/errors.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import { seesDevice } from "./account-store.ts";
import { countOf, notifyEnded, recordDerivedEnded, sourcesOf } from "./ended.ts";
import type { EndedDeps } from "./ended.ts";
import { sessionErrors } from "./errors.ts";
import { endedSince, pageOfSessions, revokeAllWithin, revokeWithin } from "./inventory-store.ts";
import type { InventoryFilter, InventoryRow, Reach } from "./inventory-store.ts";
import { RETENTION_MS, sightOf } from "./rules.ts";

/** Dependencies of inventories. */
export interface InventoryDeps extends EndedDeps {
  database: Database;
  cursors: Cursors;
  events: Pick<Events, "emit" | "notify" | "recordFailure">;
}

/** A page of an inventory. */
export interface Inventory extends Total {
  data: InventoryRow[];
  nextCursor?: string;
}

/** The live sessions of an organization, or those on a device that a caller sees, and their end. */
export function createInventories(deps: InventoryDeps) {
  const { database, clock, events, cursors } = deps;
  /** Now, and how long ago sessions ended that are still shown. */
  const spanOf = (): [Date, Date] => [dateOf(clock), dateOf(clock, -RETENTION_MS)];

  async function endOne(context: CallerContext, reach: Reach, sessionId: string): Promise<void> {
    const at = dateOf(clock);
    const by = causedBy(context);
    const refusal = await context.transaction(async (tx): Promise<ServiceError | undefined> => {
      const ended = await revokeWithin(tx, reach, sessionId, "revoked", at);
      if (ended === undefined)
        return (await endedSince(tx, reach, sessionId, at, dateOf(clock, -RETENTION_MS)))
          ? sessionErrors.alreadyRevoked()
          : sessionErrors.notFound();
      const metadata = { session_id: sessionId, reason: "revoked", ...deviceOf(reach) };
      await events.emit(tx, EVENTS["session.revoked"], {
        by,
        orgUuid: ended.orgUuid,
        userUuid: ended.userUuid,
        resourceId: sessionId,
        metadata,
        data: { ...metadata, user_uuid: ended.userUuid },
      });
      await recordDerivedEnded(deps, tx, [sessionId], by);
      return undefined;
    });
    if (refusal === undefined) return;
    await events.recordFailure(EVENTS["session.revoked"], {
      by,
      orgUuid: context.caller.orgUuid,
      resourceId: sessionId,
      metadata: { session_id: sessionId, code: refusal.code, ...deviceOf(reach) },
    });
    throw refusal;
  }

  async function endMany(tx: Tx, context: CallerContext, reach: Reach, excludeCurrent: boolean): Promise<number> {
    const { sessionId, orgUuid: own } = context.caller;
    const spared = excludeCurrent ? sessionId : null;
    const ended = await revokeAllWithin(tx, reach, spared, "bulk_revoked", dateOf(clock));
    const by = causedBy(context);
    const why = { exclude_current: excludeCurrent, ...deviceOf(reach) };
    // Each organization's log shows its own; where nothing ended, the caller's shows that.
    for (const { orgUuid, revoked } of ended.length > 0 ? ended : [{ orgUuid: own, revoked: 0 }])
      await events.emit(tx, EVENTS["session.bulk_revoked"], { by, orgUuid, metadata: { revoked, ...why } });
    await notifyEnded(deps, tx, ended, { reason: "bulk_revoked", ...deviceOf(reach) });
    await recordDerivedEnded(deps, tx, sourcesOf(ended), by);
    return countOf(ended);
  }

  return {
    organization: {
      /** Live sessions of an organization, last seen first. */
      list: (orgUuid: string, filter: InventoryFilter, page: Page): Promise<Inventory> =>
        pageOfSessions(
          database,
          { orgUuid },
          filter,
          spanOf(),
          page,
          pagingBy(cursors, ["sessions", orgUuid, filter.userUuid, filter.deviceUuid, filter.status], page),
        ),

      /**
       * Ends one session of an organization.
       * @throws {not_found} when it has no such session
       * @throws {already_revoked} when the session ended less than 30 days ago
       */
      revoke: (context: CallerContext, orgUuid: string, sessionId: string): Promise<void> =>
        endOne(context, { orgUuid }, sessionId),

      /** Ends all sessions of an organization, the caller's only if it is not excluded; returns how many. */
      revokeAll: (context: CallerContext, orgUuid: string, excludeCurrent: boolean): Promise<number> =>
        context.transaction((tx) => endMany(tx, context, { orgUuid }, excludeCurrent)),
    },

    device: {
      /**
       * Live sessions on a device that the caller sees, last seen first.
       * @throws {not_found} when the caller sees nothing on the device
       */
      async list(
        { caller }: CallerContext,
        deviceUuid: string,
        filter: Pick<InventoryFilter, "status">,
        page: Page,
      ): Promise<Inventory> {
        const at = dateOf(clock);
        const sight = sightOf(caller);
        const scope = ["sessions", deviceUuid.toLowerCase(), sight.userUuid, sight.adminOf, filter.status];
        const paging = pagingBy(cursors, scope, page);
        const { status } = filter;
        const found = await pageOfSessions(database, { deviceUuid, ...sight }, { status }, spanOf(), page, paging);
        if (found.total === 0 && !(await database.transaction((tx) => seesDevice(tx, deviceUuid, sight, at))))
          throw sessionErrors.deviceNotFound();
        return found;
      },

      /**
       * Ends one session on a device that the caller sees.
       * @throws {not_found} when the caller sees no such session
       * @throws {already_revoked} when the session ended less than 30 days ago
       */
      revoke: (context: CallerContext, deviceUuid: string, sessionId: string): Promise<void> =>
        endOne(context, { deviceUuid, ...sightOf(context.caller) }, sessionId),

      /**
       * Ends the sessions on a device that the caller sees; returns how many.
       * @throws {not_found} when the caller sees nothing on the device
       */
      revokeAll: (context: CallerContext, deviceUuid: string, excludeCurrent: boolean): Promise<number> =>
        context.transaction(async (tx) => {
          const sight = sightOf(context.caller);
          if (!(await seesDevice(tx, deviceUuid, sight, dateOf(clock)))) throw sessionErrors.deviceNotFound();
          return endMany(tx, context, { deviceUuid, ...sight }, excludeCurrent);
        }),
    },
  };
}

function deviceOf(reach: Reach): { device_uuid?: string } {
  return "deviceUuid" in reach ? { device_uuid: reach.deviceUuid.toLowerCase() } : {};
}
