import { importJWK } from "../bundled/jose.ts";
import type { CryptoKey, JWK } from "../bundled/jose.ts";
import { Lru } from "../lru.ts";
import { TokenRefusal } from "./refusal.ts";

/** A public key and the one algorithm it verifies. */
export interface PublicKey {
  key: CryptoKey | Uint8Array;
  alg: string;
}

interface KeySet {
  keys: ReadonlyMap<string, PublicKey>;
  /** Until when the set may be used without asking again. */
  freshUntilMs: number;
}

interface Slot {
  /** The service knows the organization. Until then anybody may have invented it: no signature was checked yet. */
  exists: boolean;
  set: KeySet | undefined;
  flight: Promise<KeySet> | undefined;
  failedAtMs: number;
  /** When an unknown key was last looked for in a set that was fetched for it. */
  missedAtMs: number;
}

/** Of those that exist, and again of those of which that is not known. */
const MAX_ORGANIZATIONS = 1_000;
/** Requests for organizations that may not exist: at once, and a second. The service allows 600 a minute in all. */
const UNKNOWN_AT_ONCE = 100;
const UNKNOWN_A_SECOND = 5;
/** An unknown key, or a failure, is asked about once in this time. */
const PAUSE_MS = 30_000;
const DEFAULT_MAX_AGE_MS = 300_000;
const LONGEST_MAX_AGE_MS = 86_400_000;
/** How long known keys are used while the service cannot be reached. */
const STALE_MS = 3_600_000;
const TIMEOUT_MS = 5_000;
const MAX_BYTES = 256 * 1_024;

/** Public keys of organizations, fetched from one service and kept as long as it says. */
export interface KeySets {
  /** @throws {unavailable} when the keys cannot be fetched @returns undefined for an unknown key */
  find(orgUuid: string, kid: string): Promise<PublicKey | undefined>;
}

/** @param anyOrg tokens of any organization are asked for, also of such as do not exist */
export function createKeySets(
  baseUrl: string,
  fetch: typeof globalThis.fetch,
  { anyOrg }: { anyOrg: boolean },
): KeySets {
  const slots = new Lru<string, Slot>(MAX_ORGANIZATIONS);
  const unproven = new Lru<string, Slot>(MAX_ORGANIZATIONS);
  const mayAsk = createAllowance();

  async function load(orgUuid: string, slot: Slot): Promise<KeySet> {
    const url = `${baseUrl}/api/organizations/${orgUuid}/.well-known/jwks.json`;
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    const nowMs = Date.now();
    // There is no such organization: no key of it is known.
    if (response.status === 404) {
      await response.body?.cancel();
      return { keys: new Map(), freshUntilMs: nowMs + PAUSE_MS };
    }
    if (response.status !== 200) throw new Error(`${url} returned ${response.status}`);
    const { keys } = JSON.parse(await textOf(response)) as { keys?: unknown };
    if (!Array.isArray(keys)) throw new Error(`${url} is not a JWK set`);
    if (!slot.exists) {
      slot.exists = true;
      unproven.delete(orgUuid);
      slots.set(orgUuid, slot);
    }
    const usable = await Promise.all((keys as (JWK | null)[]).map(publicKey));
    return {
      keys: new Map(usable.flatMap((entry) => (entry === undefined ? [] : [entry]))),
      freshUntilMs: nowMs + maxAgeMsOf(response.headers.get("cache-control")),
    };
  }

  async function refresh(orgUuid: string, slot: Slot): Promise<KeySet> {
    if (anyOrg && !slot.exists && slot.flight === undefined && !mayAsk())
      throw new TokenRefusal("unavailable", "Too many organizations are asked for that are not known here.");
    try {
      slot.flight ??= load(orgUuid, slot);
      return (slot.set = await slot.flight);
    } catch (cause) {
      slot.failedAtMs = Date.now();
      if (slot.set !== undefined && Date.now() < slot.set.freshUntilMs + STALE_MS) return slot.set;
      throw new TokenRefusal("unavailable", "The keys of the organization cannot be fetched.", { cause });
    } finally {
      slot.flight = undefined;
    }
  }

  return {
    async find(orgUuid, kid) {
      let slot = slots.get(orgUuid) ?? unproven.get(orgUuid);
      if (slot === undefined) {
        slot = { exists: false, set: undefined, flight: undefined, failedAtMs: -Infinity, missedAtMs: -Infinity };
        unproven.set(orgUuid, slot);
      }
      const failed = Date.now() - slot.failedAtMs < PAUSE_MS;
      let { set } = slot;
      if (set === undefined && failed && slot.flight === undefined)
        throw new TokenRefusal("unavailable", "The keys of the organization could not be fetched a moment ago.");
      const isDue = set === undefined || (Date.now() >= set.freshUntilMs && !failed);
      if (set === undefined || isDue) set = await refresh(orgUuid, slot);
      const known = set.keys.get(kid);
      // A key made after the set was fetched verifies at once; a flood of invented ones costs one request in a while.
      if (known !== undefined || failed || Date.now() - slot.missedAtMs < PAUSE_MS) return known;
      slot.missedAtMs = Date.now();
      return isDue ? undefined : (await refresh(orgUuid, slot)).keys.get(kid);
    },
  };
}

/** Whether one more request may be made: a token bucket. */
function createAllowance(): () => boolean {
  let [left, atMs] = [UNKNOWN_AT_ONCE, Date.now()];
  return () => {
    const nowMs = Date.now();
    left = Math.min(UNKNOWN_AT_ONCE, left + (Math.max(0, nowMs - atMs) / 1_000) * UNKNOWN_A_SECOND);
    atMs = nowMs;
    if (left < 1) return false;
    left--;
    return true;
  };
}

/** Keys that are malformed, or of an algorithm that this runtime does not know, are left out. */
async function publicKey(jwk: JWK | null): Promise<readonly [string, PublicKey] | undefined> {
  if (jwk === null) return undefined;
  const { kid, alg } = jwk;
  if (typeof kid !== "string" || typeof alg !== "string" || alg.startsWith("HS") || jwk.kty === "oct") return undefined;
  try {
    return [kid, { key: await importJWK(jwk, alg), alg }];
  } catch {
    return undefined;
  }
}

function maxAgeMsOf(cacheControl: string | null): number {
  const seconds = /(?:^|,)\s*max-age=(\d{1,9})/iu.exec(cacheControl ?? "")?.[1];
  return seconds === undefined ? DEFAULT_MAX_AGE_MS : Math.min(Number(seconds) * 1_000, LONGEST_MAX_AGE_MS);
}

/** @throws Error when the body is larger than any key set */
async function textOf(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let [text, size] = ["", 0];
  const reader = response.body?.getReader();
  for (;;) {
    const { done = true, value } = (await reader?.read()) ?? {};
    if (done || value === undefined) return text + decoder.decode();
    size += value.byteLength;
    if (size > MAX_BYTES) {
      await reader?.cancel();
      throw new Error(`${response.url} is larger than ${MAX_BYTES} bytes`);
    }
    text += decoder.decode(value, { stream: true });
  }
}
