import { createHash } from "node:crypto";
import type { Caller } from "../../platform/caller.ts";

/** How long an ended session is kept, so that it differs from one that never existed (decisions 3.9). */
export const RETENTION_MS = 30 * 24 * 60 * 60 * 1000;

/** Whose sessions and accounts a caller sees and ends: their own, as admin also those of their organization. */
export interface Sight {
  userUuid: string | null;
  /** The organization of an admin, null for other callers. */
  adminOf: string | null;
}

/** What a caller sees on any device (decisions 3.9). */
export function sightOf(caller: Pick<Caller, "userUuid" | "orgUuid" | "isAdmin">): Sight {
  return { userUuid: caller.userUuid, adminOf: caller.isAdmin ? caller.orgUuid : null };
}

/** Maximum number of accounts of a device, the login's own included. */
export const MAX_ACCOUNTS = 10;

/** An account on a device. */
export interface DeviceAccount {
  id: string;
  /** `own`: of the caller's login; `added`: by the caller; `other`: of another person, shown to an admin. */
  kind: "own" | "added" | "other";
  /** Stands for live sessions, not for a row of its own. */
  login: boolean;
  userUuid: string;
  email: string;
  orgUuid: string | null;
  active: boolean;
  addedAt: Date;
  lastUsedAt: Date;
}

const RANK = { own: 0, added: 1, other: 2 } as const;

/** Every account once, in the order of their addition: the caller's own entry precedes those that others added. */
export function mergeAccounts(accounts: readonly DeviceAccount[]): DeviceAccount[] {
  const order = (one: DeviceAccount): number => RANK[one.kind] * 2 + (one.login ? 1 : 0);
  const kept = new Map<string, DeviceAccount>();
  for (const account of accounts.toSorted((a, b) => order(a) - order(b))) {
    const name = `${account.userUuid}/${account.orgUuid ?? ""}`;
    if (!kept.has(name)) kept.set(name, account);
  }
  return [...kept.values()].sort(
    (a, b) => Number(b.kind === "own") - Number(a.kind === "own") || a.addedAt.getTime() - b.addedAt.getTime(),
  );
}

/** Id of the account of a login on a device: the same as long as there is one (UUID version 8, RFC 9562). */
export function loginAccountId(deviceUuid: string, userUuid: string, orgUuid: string | null): string {
  const digest = createHash("sha256")
    .update(`${deviceUuid.toLowerCase()}/${userUuid}/${orgUuid ?? ""}`)
    .digest()
    .subarray(0, 16);
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x80;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  return digest.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/u, "$1-$2-$3-$4-$5");
}

/** Orders of lists of sessions. */
export const SESSION_ORDERS = {
  last_seen_at: { sql: "last_seen_at", type: "timestamptz" },
  created_at: { sql: "created_at", type: "timestamptz" },
} as const;
