import type { Caller, RequestInfo } from "../../platform/caller.ts";
import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import type { Random } from "../../platform/random.ts";
import type { Access } from "../access/index.ts";
import { actorOf } from "../audit-record/index.ts";
import type { Audit } from "../auth-events/index.ts";
import * as store from "./account-store.ts";
import { announceEnded, countOf, sourcesOf } from "./announcing.ts";
import type { AnnounceSessions } from "./announcing.ts";
import { sessionErrors } from "./errors.ts";
import { tellFollowers } from "./followers.ts";
import type { OpenedPair, Opening } from "./open.ts";
import { mergeAccounts, mostAccounts, sightOf } from "./rules.ts";
import type { DeviceAccount } from "./rules.ts";
import { keepLive, takeSource } from "./store.ts";

/** What accounts of devices are made of. */
export interface AccountsDeps {
  database: Database;
  clock: Clock;
  random: Pick<Random, "uuid">;
  access: Pick<Access, "standing">;
  audit: Pick<Audit, "record">;
  announce: AnnounceSessions;
  open: Opening;
  /** The caller behind an access token; throws `unauthorized`. */
  authenticate: (token: string, info: RequestInfo) => Promise<Caller>;
}

/** An account that has been switched to, and the tokens of its new session. */
export interface Switched extends OpenedPair {
  account: DeviceAccount;
}

/** Several people, or organizations of one person, signed in on one device (decisions 3.9). */
export function createAccounts({ database, clock, random, access, audit, announce, open, authenticate }: AccountsDeps) {
  async function visible(
    tx: Tx,
    deviceUuid: string,
    person: Caller & { userUuid: string },
    at: Date,
  ): Promise<DeviceAccount[]> {
    const sight = sightOf(person);
    if (!(await store.seesDevice(tx, deviceUuid, sight, at))) throw sessionErrors.deviceNotFound();
    const logins = await store.loginAccounts(tx, deviceUuid, person, sight, at);
    return [...logins, ...(await store.addedAccounts(tx, deviceUuid, sight))];
  }

  async function find(
    tx: Tx,
    deviceUuid: string,
    person: Caller & { userUuid: string },
    id: string,
    at: Date,
  ): Promise<DeviceAccount> {
    const found = (await visible(tx, deviceUuid, person, at)).find((account) => account.id === id.toLowerCase());
    if (found === undefined) throw sessionErrors.accountNotFound();
    return found;
  }

  async function tell(
    tx: Tx,
    type: "device.account_added" | "device.account_removed" | "device.account_switched",
    caller: Caller,
    account: DeviceAccount,
    info: RequestInfo,
    metadata: Record<string, unknown>,
  ): Promise<void> {
    const { userUuid, orgUuid, id } = account;
    await audit.record(tx, {
      type,
      outcome: "success",
      userUuid,
      orgUuid,
      info,
      actor: actorOf(caller),
      resource: { type: "device_account", id },
      metadata,
    });
  }

  return {
    /**
     * The accounts on a device that the caller sees, each once. Throws 404 `not_found` where there is nothing to see.
     */
    async list(caller: Caller, deviceUuid: string): Promise<DeviceAccount[]> {
      const person = personOf(caller);
      return mergeAccounts(await database.transaction((tx) => visible(tx, deviceUuid, person, dateOf(clock))));
    },

    /**
     * Adds the account behind an access token. Throws 404 `not_found` where the caller sees nothing of the device, 401
     * `unauthorized` for a token that is not valid, 409 `conflict` for an account they have there, 422 `unprocessable`
     * for the eleventh.
     */
    async add(caller: Caller, deviceUuid: string, accessToken: string, info: RequestInfo): Promise<DeviceAccount> {
      const person = personOf(caller);
      const at = dateOf(clock);
      await database.transaction((tx) => visible(tx, deviceUuid, person, at));
      const { userUuid, orgUuid, email, sessionId } = await authenticate(accessToken, info);
      if (userUuid === null || sessionId === null || email === null) throw errors.unauthorized();
      return database.transaction(async (tx) => {
        await store.lockAccounts(tx, deviceUuid, person.userUuid);
        const theirs = (await visible(tx, deviceUuid, person, at)).filter(({ kind }) => kind !== "other");
        if (theirs.some((account) => account.userUuid === userUuid && account.orgUuid === orgUuid))
          throw sessionErrors.duplicateAccount();
        if (theirs.length >= mostAccounts) throw sessionErrors.tooManyAccounts();
        const uuid = random.uuid();
        await store.insertAccount(tx, {
          uuid,
          deviceUuid,
          holderUuid: person.userUuid,
          sessionId,
          userUuid,
          orgUuid,
          at,
        });
        const account: DeviceAccount = {
          id: uuid,
          kind: "added",
          login: false,
          userUuid,
          email,
          orgUuid,
          active: false,
          addedAt: at,
          lastUsedAt: at,
        };
        await tell(tx, "device.account_added", caller, account, info, { device_uuid: deviceUuid.toLowerCase() });
        return account;
      }, caller);
    },

    /**
     * Removes an account from a device and ends what it has open there: the sessions made by switching to it, or those
     * of the login it stands for. Throws 404 `not_found`.
     */
    async remove(caller: Caller, deviceUuid: string, id: string, info: RequestInfo): Promise<void> {
      const person = personOf(caller);
      const at = dateOf(clock);
      await database.transaction(async (tx) => {
        const account = await find(tx, deviceUuid, person, id, at);
        const { userUuid, orgUuid, login } = account;
        const ended = login
          ? await store.endLogins(tx, deviceUuid, userUuid, orgUuid, at)
          : await store.deleteAccount(tx, account.id, at);
        const revoked = countOf(ended);
        await tell(tx, "device.account_removed", caller, account, info, {
          device_uuid: deviceUuid.toLowerCase(),
          revoked,
        });
        if (revoked === 0) return;
        const metadata = { revoked, reason: "account_removed", device_uuid: deviceUuid.toLowerCase() };
        await audit.record(tx, {
          type: "session.bulk_revoked",
          outcome: "success",
          userUuid,
          orgUuid,
          info,
          actor: actorOf(caller),
          metadata,
        });
        await announceEnded(tx, announce, ended, { ...metadata, user_uuid: userUuid });
        await tellFollowers({ clock, audit, announce }, tx, sourcesOf(ended), { caller, info });
      }, caller);
    },

    /**
     * Switches to another account of the caller: a new session with a token pair, never elevated, derived from the
     * account's own session. Throws 404 `not_found`, and 401 `unauthorized` when that account's session or membership
     * has ended.
     */
    async switchTo(caller: Caller, deviceUuid: string, id: string, info: RequestInfo): Promise<Switched> {
      const person = personOf(caller);
      const at = dateOf(clock);
      return database.transaction(async (tx) => {
        await store.lockAccounts(tx, deviceUuid, person.userUuid);
        const account = await find(tx, deviceUuid, person, id, at);
        if (account.kind === "other") throw sessionErrors.accountNotFound();
        const standing = await access.standing(tx, account.userUuid, account.orgUuid);
        if (!account.login && (await keepLive(tx, person.sessionId, at)) === undefined) throw errors.unauthorized();
        const source = await takeSource(tx, account.login ? person.sessionId : await store.proofOf(tx, account.id), at);
        if (standing === undefined || source === undefined) throw sessionErrors.accountEnded();
        const on = { ...info, deviceUuid: deviceUuid.toLowerCase() };
        const opened = await open.pair(tx, { standing, amr: source.amr, authTime: source.auth_time, info: on, source });
        await store.activate(tx, deviceUuid, person.userUuid, account.login ? null : account.id, at);
        if (!account.login) await store.markSwitched(tx, opened.sessionId, account.id);
        await tell(tx, "device.account_switched", caller, account, info, {
          device_uuid: deviceUuid.toLowerCase(),
          session_id: opened.sessionId,
        });
        return { ...opened, account: { ...account, active: true, lastUsedAt: at } };
      }, caller);
    },
  };
}

/** Accounts of devices as the contract's adapters see them. */
export type Accounts = ReturnType<typeof createAccounts>;

function personOf(caller: Caller): Caller & { userUuid: string } {
  const { userUuid } = caller;
  if (userUuid === null) throw errors.forbidden();
  return { ...caller, userUuid };
}
