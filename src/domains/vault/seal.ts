import { combine } from "shamir-secret-sharing";
import { dateOf } from "../../platform/clock.ts";
import type { Clock } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import type { Sealer } from "../../platform/crypto/sealed.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { SKIP_REAUTHORIZATION } from "../../platform/db/types.ts";
import { ServiceError } from "../../platform/errors.ts";
import type { Log } from "../../platform/log.ts";
import type { Random } from "../../platform/random.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import { vaultErrors } from "./errors.ts";
import { checkOf } from "./master-keys.ts";
import type { MasterKeys } from "./master-keys.ts";
import { SHARES, THRESHOLD } from "./rules.ts";
import type { Entry } from "./rules.ts";
import * as store from "./seal-store.ts";
import type { SealState, ShareRow } from "./seal-store.ts";

/** Dependencies of the seal. */
export interface SealDeps {
  database: Pick<Database, "prepared" | "transaction">;
  clock: Clock;
  random: Pick<Random, "bytes">;
  log: Pick<Log, "error">;
  /** Of the instance key. */
  sealer: Sealer;
  masterKey: Buffer | undefined;
  masterKeys: MasterKeys;
  events: Pick<Events, "emit" | "emitFailure">;
}

/** The seal as operators see it. */
export interface SealStatus {
  sealed: boolean;
  threshold: number;
  shares: number;
  /** Different shares entered so far. */
  progress: number;
}

/** The context that an entered share is sealed with. */
export const shareContext = (x: number): string => `vault-share:${x}`;

/** The seal of the vault (decisions 7.2): one flag in the database, which every instance obeys. */
export function createSeal({ database, clock, random, log, sealer, masterKey, masterKeys, events }: SealDeps) {
  let isKeyWrong = false;
  let health = masterKey === undefined ? "sealed" : "ok";

  const printed = (state: SealState): SealStatus => {
    const sealed = masterKeys.find(state) === undefined;
    return { sealed, threshold: THRESHOLD, shares: SHARES, progress: sealed ? state.progress : 0 };
  };

  /** An entered share; undefined when the instance key does not open it. */
  function openShare({ x, box }: ShareRow): Buffer | undefined {
    try {
      return sealer.open(box, shareContext(x));
    } catch {
      return undefined;
    }
  }

  /** Adds a share to those entered on any instance. Returns the key once there are enough; "wrong" if they disagree. */
  async function addShare(tx: Tx, share: Buffer): Promise<Buffer | "wrong" | undefined> {
    const x = share.at(-1) ?? 0;
    const shares: Buffer[] = [];
    try {
      for (const row of await store.entered(tx)) {
        const opened = openShare(row);
        if (opened === undefined) return "wrong";
        shares.push(opened);
      }
      const same = shares.find((one) => one.at(-1) === x);
      if (same !== undefined) return same.equals(share) ? undefined : "wrong";
      if (shares.length + 1 < THRESHOLD) {
        await store.insertShare(tx, { x, box: sealer.seal(share, shareContext(x)) }, dateOf(clock));
        return undefined;
      }
      // The package takes plain arrays of bytes only.
      const copies = [...shares, share].map((one) => new Uint8Array(one));
      try {
        return Buffer.from((await combine(copies)).buffer);
      } finally {
        for (const copy of copies) copy.fill(0);
      }
    } finally {
      for (const one of shares) one.fill(0);
    }
  }

  async function enter(context: CallerContext, tx: Tx, entry: Entry): Promise<SealStatus> {
    const state = await store.lockSeal(tx);
    if (masterKeys.find(state) !== undefined) return printed(state);
    const key = "key" in entry ? entry.key : await addShare(tx, entry.share);
    if (key === undefined) return { ...printed(state), progress: (await store.entered(tx)).length };
    try {
      if (key === "wrong" || (state.keyCheck !== null && !masterKeys.isRight(key, state.keyCheck)))
        throw vaultErrors.unsealFailed();
      await store.deleteShares(tx);
      if (state.keyCheck === null) await store.insertKeyCheck(tx, checkOf(key, random));
      const epoch = state.epoch + 1;
      await store.markUnsealed(tx, epoch, masterKeys.wrap(key, epoch), dateOf(clock));
    } finally {
      if (key !== "wrong" && "share" in entry) key.fill(0);
    }
    await events.emit(tx, EVENTS["vault.unsealed"], { by: causedBy(context), orgUuid: context.caller.orgUuid });
    return { sealed: false, threshold: THRESHOLD, shares: SHARES, progress: 0 };
  }

  /** Forgets the entered shares, in a transaction that outlives the refused one. */
  const startOver = (context: CallerContext): Promise<void> =>
    database.transaction(async (tx) => {
      await store.lockSeal(tx);
      await store.deleteShares(tx);
      const { orgUuid } = context.caller;
      const metadata = { code: "unseal_failed" };
      await events.emitFailure(tx, EVENTS["vault.unsealed"], { by: causedBy(context), orgUuid, metadata });
    }, SKIP_REAUTHORIZATION);

  return {
    /** Compares the configured master key with the stored check; the first start with a key stores the check. */
    async checkMasterKey(): Promise<void> {
      if (masterKey === undefined) return;
      const state = await database.transaction(async (tx) => {
        const present = await store.lockSeal(tx);
        if (present.keyCheck !== null) return present;
        const fresh = checkOf(masterKey, random);
        await store.insertKeyCheck(tx, fresh);
        return { ...present, keyCheck: fresh };
      });
      isKeyWrong = state.keyCheck !== null && !masterKeys.confirm(state.keyCheck);
      if (!isKeyWrong) return;
      const isOpen = masterKeys.find(state) !== undefined;
      const consequence = isOpen ? "the vault is open by the key that operators entered" : "the vault starts sealed";
      log.error(`SERVICE_MASTER_KEY is not the key of this vault; ${consequence}`);
    },

    /** State of the seal. */
    status: async (): Promise<SealStatus> => printed(await store.readSealState(database)),

    /** Seals the vault on every instance, until somebody unseals it. Without effect on a sealed vault. */
    seal: (context: CallerContext): Promise<void> =>
      context.transaction(async (tx) => {
        const state = await store.lockSeal(tx);
        if (state.sealed) return;
        await store.deleteShares(tx);
        await store.markSealed(tx, dateOf(clock));
        await events.emit(tx, EVENTS["vault.sealed"], { by: causedBy(context), orgUuid: context.caller.orgUuid });
      }),

    /**
     * Unseals the vault by the master key, or by a share once {@link THRESHOLD} different ones were entered. Without
     * effect on an unsealed vault. The key is wrapped with the instance key for the other instances.
     * @throws {unseal_failed} when the key is wrong or the shares disagree; all shares have to be entered again
     */
    async unseal(context: CallerContext, entry: Entry): Promise<SealStatus> {
      try {
        return await context.transaction((tx) => enter(context, tx, entry));
      } catch (error) {
        if (error instanceof ServiceError && error.code === "unseal_failed") await startOver(context);
        throw error;
      } finally {
        ("key" in entry ? entry.key : entry.share).fill(0);
      }
    },

    /** For readiness: `ok`, or what is wrong; what was read last while the database is away. */
    async health(): Promise<string> {
      const row = await store.readSeal(database).catch(() => undefined);
      if (row === undefined) return health;
      const isOpen = masterKeys.find(row) !== undefined;
      health = isOpen ? "ok" : isKeyWrong && !row.sealed ? "sealed: SERVICE_MASTER_KEY is not its key" : "sealed";
      return health;
    },
  };
}
