import { SKIP_REAUTHORIZATION } from "../../platform/db/types.ts";
import { createLru } from "../../platform/lru.ts";
import { signRevocationList } from "../../platform/x509/revocation-list.ts";
import { wholeSeconds } from "../../platform/x509/validity.ts";
import type { CacheHeaders } from "./bundles.ts";
import * as store from "./crl-store.ts";
import type { ListState, SignedList } from "./crl-store.ts";
import type { SpiffeDeps } from "./deps.ts";
import type { Roots } from "./roots.ts";

const HOUR_MS = 3_600_000;
/** `nextUpdate` of a list (decisions 7.4). */
const VALID_MS = 24 * HOUR_MS;
/** A list this old is signed anew, so that nobody receives one that is about to end. */
const RENEWED_AFTER_MS = 12 * HOUR_MS;
/** A revoked SVID stays listed for this long after its expiry, so that it is on a later list (RFC 5280 §3.3). */
const LISTED_AFTER_EXPIRY_MS = 24 * HOUR_MS;
/** Signed lists kept in memory; their state is read from the database each time. */
const CACHED_LISTS = 16;

/** The revocation list of each organization's SPIFFE root (decisions 7.4). */
export function createCrl({ database, clock }: Pick<SpiffeDeps, "database" | "clock">, roots: Roots) {
  const cache = createLru<SignedList>(CACHED_LISTS);
  /** Lists that are being signed, by organization: those who ask meanwhile wait. */
  const signing = new Map<string, Promise<void>>();

  const isDue = ({ signedAt }: ListState): boolean =>
    signedAt === null || clock.now() - signedAt.getTime() >= RENEWED_AFTER_MS;

  async function sign(orgUuid: string): Promise<void> {
    const { authority } = await roots.signer(orgUuid);
    const after = new Date(clock.now() - LISTED_AFTER_EXPIRY_MS);
    const { entries, ...state } = await store.revokedWithState(database, orgUuid, after);
    const { number, revocations } = state;
    // Another instance has signed one since this was found to be needed.
    if (state.covers >= revocations && !isDue(state)) return;
    const signedAt = wholeSeconds(clock.now());
    const next = { number: number + 1, covers: revocations, signedAt };
    const list = await signRevocationList(authority, {
      number: next.number,
      thisUpdate: signedAt,
      nextUpdate: new Date(signedAt.getTime() + VALID_MS),
      entries,
    });
    // Where another instance was faster, its list counts, and whoever asked looks again.
    await database.background.transaction(
      (tx) => store.storeList(tx, orgUuid, { ...next, list }),
      SKIP_REAUTHORIZATION,
    );
  }

  function signOnce(orgUuid: string): Promise<void> {
    const present = signing.get(orgUuid);
    if (present !== undefined) return present;
    const started = sign(orgUuid).finally(() => signing.delete(orgUuid));
    signing.set(orgUuid, started);
    return started;
  }

  async function newest(orgUuid: string, number: number): Promise<SignedList> {
    const cached = cache.get(orgUuid);
    if (cached?.number === number) return cached;
    const list = await store.signedList(database, orgUuid);
    if (list === undefined) throw new Error("a revocation list that was signed is missing");
    cache.set(orgUuid, list);
    return list;
  }

  return {
    /**
     * The revocation list of an organization's SPIFFE root, DER: it has every revocation that was committed before the
     * call.
     * @throws {not_found} when there is no such organization
     */
    async of(orgUuid: string): Promise<{ list: Buffer; headers: CacheHeaders }> {
      await roots.find(orgUuid);
      let state = await store.listState(database, orgUuid);
      // Not those revoked from now on: where they are many, the call would never end.
      for (const { revocations } = state; state.covers < revocations || isDue(state); ) {
        await signOnce(orgUuid);
        state = await store.listState(database, orgUuid);
      }
      const { number, list } = await newest(orgUuid, state.number);
      return { list, headers: { etag: `"${number}"`, "cache-control": "no-cache" } };
    },
  };
}
