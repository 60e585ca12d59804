import { personRequired } from "../../platform/caller.ts";
import type { Caller, RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import type { Random } from "../../platform/random.ts";
import type { Access } from "../access/index.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import * as store from "./account-store.ts";
import { countOf, notifyEnded, recordDerivedEnded, sourcesOf } from "./ended.ts";
import type { EndedDeps } from "./ended.ts";
import { sessionErrors } from "./errors.ts";
import type { OpenedPair, Openings } from "./open.ts";
import { MAX_ACCOUNTS, mergeAccounts, sightOf } from "./rules.ts";
import type { DeviceAccount } from "./rules.ts";
import { takeSource } from "./store.ts";
import { demandVouching, providerOrgOf, sessionOf } from "./vouching.ts";

/** Dependencies of accounts of devices. */
export interface AccountsDeps extends EndedDeps {
  database: Database;
  random: Pick<Random, "uuid">;
  access: Pick<Access, "standing">;
  open: Openings;
  /**
   * The caller behind an access token.
   * @throws {unauthorized} when the token is not valid
   */
  authenticate: (token: string, info: RequestInfo) => Promise<Caller>;
}

/** An account that has been switched to, and the tokens of its new session. */
export interface Switched extends OpenedPair {
  account: DeviceAccount;
}

/** Several people, or organizations of one person, signed in on one device (decisions 3.9). */
export function createAccounts(deps: AccountsDeps) {
  const { database, clock, random, access, events, open, authenticate } = deps;

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

  async function record(
    tx: Tx,
    context: CallerContext,
    type: "device.account_added" | "device.account_removed" | "device.account_switched",
    { id, userUuid, orgUuid }: DeviceAccount,
    metadata: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    await events.emit(tx, EVENTS[type], { by: causedBy(context), orgUuid, userUuid, resourceId: id, metadata });
  }

  return {
    /**
     * The accounts on a device that the caller sees, each once.
     * @throws {not_found} when the caller sees nothing on the device
     */
    async list({ caller }: CallerContext, deviceUuid: string): Promise<DeviceAccount[]> {
      const person = personOf(caller);
      return mergeAccounts(await database.transaction((tx) => visible(tx, deviceUuid, person, dateOf(clock))));
    },

    /**
     * Adds the account behind an access token.
     * @throws {not_found} when the caller sees nothing on the device
     * @throws {unauthorized} when the token is not valid
     * @throws {conflict} when the caller has the account on the device
     * @throws {unprocessable} when the device has the maximum number of accounts
     */
    async add(context: CallerContext, deviceUuid: string, accessToken: string): Promise<DeviceAccount> {
      const person = personOf(context.caller);
      const at = dateOf(clock);
      await database.transaction((tx) => visible(tx, deviceUuid, person, at));
      const { userUuid, orgUuid, email, sessionId } = await authenticate(accessToken, context.info);
      if (userUuid === null || sessionId === null || email === null) throw errors.unauthorized();
      return context.transaction(async (tx) => {
        await store.lockAccounts(tx, deviceUuid, person.userUuid);
        const theirs = (await visible(tx, deviceUuid, person, at)).filter(({ kind }) => kind !== "other");
        if (theirs.some((account) => account.userUuid === userUuid && account.orgUuid === orgUuid))
          throw sessionErrors.duplicateAccount();
        if (theirs.length >= MAX_ACCOUNTS) throw sessionErrors.tooManyAccounts();
        const uuid = random.uuid();
        const holderUuid = person.userUuid;
        await store.insertAccount(tx, { uuid, deviceUuid, holderUuid, sessionId, userUuid, orgUuid, at });
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
        await record(tx, context, "device.account_added", account, { device_uuid: deviceUuid.toLowerCase() });
        return account;
      });
    },

    /**
     * Removes an account from a device and ends its sessions there: those opened by switching to it, or those of the
     * login it stands for.
     * @throws {not_found} when the caller sees no such account
     */
    async remove(context: CallerContext, deviceUuid: string, id: string): Promise<void> {
      const person = personOf(context.caller);
      const at = dateOf(clock);
      await context.transaction(async (tx) => {
        const account = await find(tx, deviceUuid, person, id, at);
        const { userUuid, orgUuid, login } = account;
        const ended = login
          ? await store.endLogins(tx, deviceUuid, userUuid, orgUuid, at)
          : await store.deleteAccount(tx, account.id, at);
        const revoked = countOf(ended);
        const device_uuid = deviceUuid.toLowerCase();
        await record(tx, context, "device.account_removed", account, { device_uuid, revoked });
        if (revoked === 0) return;
        const by = causedBy(context);
        const metadata = { revoked, reason: "account_removed", device_uuid };
        await events.emit(tx, EVENTS["session.bulk_revoked"], { by, orgUuid, userUuid, metadata });
        await notifyEnded(deps, tx, ended, { ...metadata, user_uuid: userUuid });
        await recordDerivedEnded(deps, tx, sourcesOf(ended), by);
      });
    },

    /**
     * Switches to another account of the caller: a new session with a token pair, never elevated, derived from the
     * account's own session.
     * @throws {not_found} when the caller has no such account on the device
     * @throws {link_required} when the present session has come by a provider of another organization, and the person
     * has not linked the identity themselves
     * @throws {unauthorized} when the account's session or membership has ended
     */
    async switchTo(context: CallerContext, deviceUuid: string, id: string): Promise<Switched> {
      const person = personOf(context.caller);
      const at = dateOf(clock);
      return context.transaction(async (tx) => {
        await store.lockAccounts(tx, deviceUuid, person.userUuid);
        const account = await find(tx, deviceUuid, person, id, at);
        if (account.kind === "other") throw sessionErrors.accountNotFound();
        if (!account.login) await demandVouching(tx, sessionOf(person), account.orgUuid);
        const standing = await access.standing(tx, account.userUuid, account.orgUuid);
        const source = await takeSource(tx, account.login ? person.sessionId : await store.proofOf(tx, account.id), at);
        if (standing === undefined || source === undefined) throw sessionErrors.accountEnded();
        const device_uuid = deviceUuid.toLowerCase();
        const info = { ...context.info, deviceUuid: device_uuid };
        const { amr, authTime } = source;
        // Another person's provider has not signed this one in.
        const isOwn = account.userUuid === person.userUuid;
        const providerOrgUuid = isOwn ? await providerOrgOf(tx, sessionOf(person)) : null;
        const opened = await open.pair(tx, { standing, amr, authTime, info, source, providerOrgUuid });
        await store.activate(tx, deviceUuid, person.userUuid, account.login ? null : account.id, at);
        if (!account.login) await store.markSwitched(tx, opened.sessionId, account.id);
        const metadata = { device_uuid, session_id: opened.sessionId };
        await record(tx, context, "device.account_switched", account, metadata);
        return { ...opened, account: { ...account, active: true, lastUsedAt: at } };
      });
    },
  };
}

function personOf(caller: Caller): Caller & { userUuid: string } {
  const { userUuid } = caller;
  if (userUuid === null) throw personRequired();
  return { ...caller, userUuid };
}
