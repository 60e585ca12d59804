import type { Clock } from "../../platform/clock.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { createLru } from "../../platform/lru.ts";
import type { Authority } from "../../platform/x509/authority.ts";
import { toPem } from "../../platform/x509/pem.ts";
import { encodedEntriesOf, signRevocationList } from "../../platform/x509/revocation-list.ts";
import { wholeSeconds } from "../../platform/x509/validity.ts";
import { mtlsCaErrors } from "./errors.ts";
import * as store from "./revocation-list-store.ts";
import type { ListState } from "./revocation-list-store.ts";
import { LIST_MS, RENEW_LIST_MS } from "./rules.ts";
import type { Signers } from "./signers.ts";

/** Dependencies of revocation lists. */
export interface RevocationListsDeps {
  database: Database;
  clock: Clock;
  signers: Signers;
}

/** A revocation list as it is published. */
export interface RevocationListDocument {
  /** DER, or PEM text. */
  data: Buffer;
  headers: Readonly<Record<"etag" | "cache-control", string>>;
}

interface CachedList {
  number: number;
  der: Buffer;
  pem?: Buffer;
}

/** Lists kept in memory: many up to {@link SMALL} bytes, and few that are longer. */
const CACHED = { small: 512, large: 8 } as const;
const SMALL = 16_384;

/**
 * Revocation lists of organization CAs. Each is signed when somebody reads it after a change, or half a day before it
 * ends, by one instance; the others read what that one stored. Every read asks the database for the number of
 * revocations, so that the list is right on the next request after a revocation, on every instance.
 */
export function createRevocationLists({ database, clock, signers }: RevocationListsDeps) {
  const small = createLru<CachedList>(CACHED.small);
  const large = createLru<CachedList>(CACHED.large);
  const signing = new Map<string, Promise<void>>();

  const isFresh = ({ nextUpdate }: Pick<ListState, "nextUpdate">): boolean =>
    nextUpdate !== null && nextUpdate.getTime() - clock.now() > RENEW_LIST_MS;

  /** Signs the next list of an authority, unless another instance has just done so. */
  async function signNext(tx: Tx, caUuid: string, authority: Authority): Promise<void> {
    const last = await store.lockList(tx, caUuid);
    const now = await store.revocationsOf(tx, caUuid);
    if (last === undefined || now === undefined) throw mtlsCaErrors.notFound();
    if (isFresh(last) && last.listed === now.revocations) return;
    const thisUpdate = wholeSeconds(clock.now());
    const nextUpdate = new Date(thisUpdate.getTime() + LIST_MS);
    // A fresh list is continued. Twice a day it is made anew, without what is no longer recorded.
    const continued = isFresh(last) && now.deletedAt === null ? last.der : null;
    const entries =
      now.deletedAt === null
        ? await store.revokedBetween(tx, caUuid, continued === null ? 0 : last.listed, now.revocations)
        : await store.everythingOf(tx, caUuid, now.deletedAt);
    const number = last.number + 1;
    const der = await signRevocationList(authority, {
      number,
      thisUpdate,
      nextUpdate,
      entries,
      encodedEntries: continued === null ? undefined : encodedEntriesOf(continued),
    });
    await store.storeList(tx, caUuid, { number, listed: now.revocations, thisUpdate, nextUpdate, der });
  }

  /** Signs a list that has at least these revocations; joins only what began after they were counted. */
  function sign({ caUuid, revocations }: ListState): Promise<void> {
    const key = `${caUuid} ${revocations}`;
    const running = signing.get(key);
    if (running !== undefined) return running;
    // Opened first: a transaction never asks for a second connection.
    const done = signers
      .open(caUuid)
      .then((authority) => database.background.transaction((tx) => signNext(tx, caUuid, authority)))
      .finally(() => void signing.delete(key));
    signing.set(key, done);
    return done;
  }

  async function load({ caUuid, number }: ListState): Promise<CachedList | undefined> {
    const known = small.get(caUuid) ?? large.get(caUuid);
    if (known?.number === number) return known;
    const der = await store.signedList(database, caUuid, number);
    if (der === undefined) return undefined;
    const list = { number, der };
    small.delete(caUuid);
    large.delete(caUuid);
    (der.length <= SMALL ? small : large).set(caUuid, list);
    return list;
  }

  return {
    /**
     * The revocation list of an authority of an organization: of the one that is named, else of the active or the last
     * one.
     * @throws {not_found} when there is no such authority
     */
    async ofOrganization(
      orgUuid: string,
      caUuid: string | undefined,
      format: "der" | "pem",
    ): Promise<RevocationListDocument> {
      // A revocation counts when it was committed before the request: later ones never make it wait again.
      let wanted: ListState | undefined;
      for (;;) {
        const state = await store.listState(database, orgUuid, caUuid);
        if (state === undefined) throw mtlsCaErrors.notFound();
        if (wanted?.caUuid !== state.caUuid) wanted = state;
        const isCurrent = isFresh(state) && state.listed >= wanted.revocations;
        const list = isCurrent ? await load(state) : await sign(state).then(() => undefined);
        if (list === undefined) continue;
        const data = format === "der" ? list.der : (list.pem ??= Buffer.from(toPem(list.der, "X509 CRL")));
        const etag = `"${state.caUuid.slice(0, 8)}-${list.number}-${format}"`;
        return { data, headers: { etag, "cache-control": "public, no-cache" } };
      }
    },
  };
}
