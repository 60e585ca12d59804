import type { Caller, RequestInfo } from "../../platform/caller.ts";
import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Total } from "../../platform/db/counting.ts";
import type { Page } from "../../platform/db/paging.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import type { ServiceError } from "../../platform/errors.ts";
import { actorOf } from "../audit-record/index.ts";
import type { Audit } from "../auth-events/index.ts";
import { seesDevice } from "./account-store.ts";
import { announceEnded, countOf, sourcesOf } from "./announcing.ts";
import type { AnnounceSessions } from "./announcing.ts";
import { sessionErrors } from "./errors.ts";
import { tellFollowers } from "./followers.ts";
import { endedSince, pageOfSessions, revokeAllWithin, revokeWithin } from "./inventory-store.ts";
import type { InventoryFilter, InventoryRow, Reach } from "./inventory-store.ts";
import { sightOf } from "./rules.ts";

/** How long an ended session is told from one that never was (decisions 3.9). */
export const rememberedMs = 30 * 24 * 60 * 60 * 1000;

/** What inventories are made of. */
export interface InventoryDeps {
  database: Database;
  clock: Clock;
  audit: Pick<Audit, "record" | "recordFailure">;
  announce: AnnounceSessions;
}

/** A page of an inventory. */
export interface Inventory extends Total {
  data: InventoryRow[];
}

/** The live sessions of an organization, or what a caller sees of a device, and their end. */
export function createInventories({ database, clock, audit, announce }: InventoryDeps) {
  async function endOne(caller: Caller, reach: Reach, sessionId: string, info: RequestInfo): Promise<void> {
    const at = dateOf(clock);
    const base = {
      type: "session.revoked" as const,
      info,
      actor: actorOf(caller),
      resource: { type: "session", id: sessionId },
    };
    const refusal = await database.transaction(async (tx): Promise<ServiceError | undefined> => {
      const ended = await revokeWithin(tx, reach, sessionId, "revoked", at);
      if (ended === undefined)
        return (await endedSince(tx, reach, sessionId, at, dateOf(clock, -rememberedMs)))
          ? sessionErrors.alreadyRevoked()
          : sessionErrors.notFound();
      const metadata = { session_id: sessionId, reason: "revoked", ...deviceOf(reach) };
      await audit.record(tx, {
        ...base,
        outcome: "success",
        userUuid: ended.user_uuid,
        orgUuid: ended.org_uuid,
        metadata,
      });
      const { org_uuid: orgUuid, user_uuid } = ended;
      if (orgUuid !== null) await announce(tx, { type: "session.revoked", orgUuid, data: { ...metadata, user_uuid } });
      await tellFollowers({ clock, audit, announce }, tx, [sessionId], { caller, info });
      return undefined;
    }, caller);
    if (refusal === undefined) return;
    const metadata = { session_id: sessionId, code: refusal.code, ...deviceOf(reach) };
    await audit.recordFailure({ ...base, userUuid: caller.userUuid, orgUuid: caller.orgUuid, metadata });
    throw refusal;
  }

  async function endMany(
    tx: Tx,
    caller: Caller,
    reach: Reach,
    excludeCurrent: boolean,
    info: RequestInfo,
  ): Promise<number> {
    const ended = await revokeAllWithin(
      tx,
      reach,
      excludeCurrent ? caller.sessionId : null,
      "bulk_revoked",
      dateOf(clock),
    );
    const revoked = countOf(ended);
    const metadata = { revoked, exclude_current: excludeCurrent, ...deviceOf(reach) };
    const { userUuid, orgUuid } = caller;
    await audit.record(tx, {
      type: "session.bulk_revoked",
      outcome: "success",
      userUuid,
      orgUuid,
      info,
      actor: actorOf(caller),
      metadata,
    });
    await announceEnded(tx, announce, ended, { reason: "bulk_revoked", ...deviceOf(reach) });
    await tellFollowers({ clock, audit, announce }, tx, sourcesOf(ended), { caller, info });
    return revoked;
  }

  return {
    organization: {
      /** Live sessions of an organization, last seen first. */
      list: (orgUuid: string, filter: InventoryFilter, page: Page): Promise<Inventory> =>
        pageOfSessions(database, { orgUuid }, filter, dateOf(clock), page),

      /** Ends one session of an organization. Throws 404 `not_found`, 409 `already_revoked`. */
      revoke: (caller: Caller, orgUuid: string, sessionId: string, info: RequestInfo): Promise<void> =>
        endOne(caller, { orgUuid }, sessionId, info),

      /** Ends all sessions of an organization, but the caller's where that is to be spared; answers how many. */
      revokeAll: (caller: Caller, orgUuid: string, excludeCurrent: boolean, info: RequestInfo): Promise<number> =>
        database.transaction((tx) => endMany(tx, caller, { orgUuid }, excludeCurrent, info), caller),
    },

    device: {
      /**
       * Live sessions on a device that the caller sees, last seen first. Throws 404 `not_found` where there is nothing
       * to see.
       */
      async list(caller: Caller, deviceUuid: string, page: Page): Promise<Inventory> {
        const at = dateOf(clock);
        const sight = sightOf(caller);
        const found = await pageOfSessions(database, { deviceUuid, ...sight }, {}, at, page);
        if (found.total === 0 && !(await database.transaction((tx) => seesDevice(tx, deviceUuid, sight, at))))
          throw sessionErrors.deviceNotFound();
        return found;
      },

      /** Ends one session on a device that the caller sees. Throws 404 `not_found`, 409 `already_revoked`. */
      revoke: (caller: Caller, deviceUuid: string, sessionId: string, info: RequestInfo): Promise<void> =>
        endOne(caller, { deviceUuid, ...sightOf(caller) }, sessionId, info),

      /**
       * Ends the sessions on a device that the caller sees; answers how many. Throws 404 `not_found` where there is
       * nothing to see.
       */
      revokeAll: (caller: Caller, deviceUuid: string, excludeCurrent: boolean, info: RequestInfo): Promise<number> =>
        database.transaction(async (tx) => {
          const sight = sightOf(caller);
          if (!(await seesDevice(tx, deviceUuid, sight, dateOf(clock)))) throw sessionErrors.deviceNotFound();
          return endMany(tx, caller, { deviceUuid, ...sight }, excludeCurrent, info);
        }, caller),
    },
  };
}

/** Inventories as the contract's adapters see them. */
export type Inventories = ReturnType<typeof createInventories>;

function deviceOf(reach: Reach): { device_uuid?: string } {
  return "deviceUuid" in reach ? { device_uuid: reach.deviceUuid.toLowerCase() } : {};
}
