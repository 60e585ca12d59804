import type { Clock } from "../../../platform/clock.ts";
import type { Database } from "../../../platform/db/types.ts";
import { GENESIS } from "../../../audit-proof/index.ts";
import { hashEvent, hashLink, printEvent } from "./hashing.ts";
import * as store from "./store.ts";
import type { HeadRow, LinkRow } from "./store.ts";
import type { Heads } from "./heads.ts";
import type { Linker } from "./linker.ts";
import { SHORTEST_RETENTION_MS } from "../rules.ts";

const PAGE = 2_000;
/** Tolerated difference between the clocks of this process and of the database, which decides what is purged. */
const CLOCK_SKEW_MS = 3_600_000;

/** Result of a verification. */
export interface Verification {
  valid: boolean;
  /** Links of the chain, those of purged events included. */
  events: number;
  purged: number;
  /** Null while the log is empty. */
  head: HeadRow | null;
  firstBrokenEventId: string | null;
}

/** Verifies the chains of organizations against their events. */
export function createVerify({ database, clock }: { database: Database; clock: Clock }, linker: Linker, heads: Heads) {
  /** Reads a chain to its end; stops hashing at the first fault, but continues to count. */
  async function walk(orgUuid: string) {
    const key = store.chainKey(orgUuid);
    const youngest = clock.now() - SHORTEST_RETENTION_MS + CLOCK_SKEW_MS;
    const found = { position: 0, hash: GENESIS, purged: 0, broken: null as string | null };
    for (;;) {
      const links = await store.linksAfter(database, key, found.position, 2 ** 31 - 1, PAGE);
      for (const link of links) {
        if (found.broken === null && faulty(orgUuid, found, link, youngest)) found.broken = link.eventId;
        found.position = link.position;
        found.hash = link.hash;
        if (link.purged) found.purged++;
      }
      if (links.length < PAGE) return found;
    }
  }

  /** The oldest event that was never linked. */
  async function unlinked(orgUuid: string): Promise<string | null> {
    for (let place: store.LogPlace | undefined = { createdAt: new Date(0), sequence: "0" }; place !== undefined; ) {
      const { eventId, next } = await store.unlinkedAfter(database, orgUuid, place, PAGE * 5);
      if (eventId !== null) return eventId;
      place = next;
    }
    return null;
  }

  return {
    /** Links the pending events of an organization's log, then verifies every event, every link and the head. */
    async verify(orgUuid: string): Promise<Verification> {
      const isOurs = await linker.linkAll(orgUuid);
      const head = await database.transaction((tx) => store.headOf(tx, store.chainKey(orgUuid)));
      const found = await walk(orgUuid);
      const broken = found.broken ?? (isOurs ? undefined : await beyond(orgUuid, head)) ?? (await unlinked(orgUuid));
      // Links that are added meanwhile follow the head that was read.
      const ends =
        head === undefined ? found.position === 0 : found.position >= head.position && (await reaches(orgUuid, head));
      const signed = head === undefined || (await heads.isSigned(orgUuid, head)) === true;
      const valid = isOurs && ends && signed && broken === null;
      return {
        valid,
        events: head?.position ?? found.position,
        purged: found.purged,
        head: head ?? null,
        firstBrokenEventId: broken,
      };
    },
  };

  /** The event of the first link after a head. */
  async function beyond(orgUuid: string, head: HeadRow | undefined): Promise<string | undefined> {
    const [link] = await store.linksAfter(database, store.chainKey(orgUuid), head?.position ?? 0, 2 ** 31 - 1, 1);
    return link?.eventId;
  }

  async function reaches(orgUuid: string, head: HeadRow): Promise<boolean> {
    const [last] = await store.linksAfter(database, store.chainKey(orgUuid), head.position - 1, head.position, 1);
    return last?.hash === head.hash;
  }
}

/**
 * Whether a link does not follow the one before it, does not fit its event, or has lost it without being old enough.
 */
function faulty(orgUuid: string, before: { position: number; hash: string }, link: LinkRow, youngest: number): boolean {
  const { position, eventId, createdAt, payloadHash, hash, event, purged } = link;
  if (position !== before.position + 1) return true;
  const at = createdAt.toISOString();
  if (
    hashLink({
      org_uuid: orgUuid,
      sequence: position,
      previous_hash: before.hash,
      event_id: eventId,
      created_at: at,
      payload_hash: payloadHash,
    }) !== hash
  )
    return true;
  if (event === undefined) return !purged || createdAt.getTime() > youngest;
  const printed = printEvent(event);
  return purged || printed.event_id !== eventId || printed.created_at !== at || hashEvent(printed) !== payloadHash;
}
