import type { Clock } from "../../../platform/clock.ts";
import { dateOf } from "../../../platform/clock.ts";
import { isAway } from "../../../platform/db/failure.ts";
import { SKIP_REAUTHORIZATION } from "../../../platform/db/types.ts";
import type { Database, Tx } from "../../../platform/db/types.ts";
import { createPoller } from "../../../platform/poller.ts";
import type { Poller, PollerDeps } from "../../../platform/poller.ts";
import { GENESIS } from "../../../audit-proof/index.ts";
import { hashEvent, hashLink, printEvent } from "./hashing.ts";
import * as store from "./store.ts";
import type { HeadRow, NewLink } from "./store.ts";
import type { AuditRecord } from "../../audit-record/index.ts";
import type { Heads } from "./heads.ts";

/** Events linked by one transaction. */
const BATCH = 1_000;
/** Chains of one run; the next run continues after them. */
const CHAINS = 200;
const POLL_MS = 1_000;

export interface LinkerDeps extends PollerDeps {
  database: Database;
  clock: Clock;
}

/**
 * Result of linking a batch: the number of events; `busy` when another instance links the chain; `broken` when its head
 * was not signed by this service or is not its end.
 */
export type Linked = number | "busy" | "broken";

/** Links events into hash chains. */
export interface Linker {
  /** Links all events of one organization that are visible now; false when its head was not signed by this service. */
  linkAll(orgUuid: string | null): Promise<boolean>;
  /** Links the pending events of every organization. */
  poller: Poller;
}

/**
 * Creates the linker of new events into the chains of their organizations. Writers only queue an event and so never
 * wait for each other. A chain is ordered by when events become visible, which is the order of their sequences except
 * for long transactions.
 */
export function createLinker({ database: { background: database }, clock, ...deps }: LinkerDeps, heads: Heads): Linker {
  const { log } = deps;
  const broken = new Set<string>();
  /** Where the walk over the chains continues, null at its start, and whether a chain before it may have more. */
  let walk = { after: null as string | null, hasMore: false };

  /**
   * Links one batch. With `patient` it waits for other instances, and signs the head again when its key is no longer
   * the active one.
   */
  function linkBatch(key: string, patient: boolean): Promise<Linked> {
    return database.transaction<Linked>(async (tx) => {
      if (!(await store.lockChain(tx, key, patient))) return "busy";
      const head = await store.headOf(tx, key);
      const owner = store.chainOwner(key);
      if (
        (head !== undefined && !heads.isOurs(owner, head)) ||
        (await store.hasLinksBeyond(tx, key, head?.position ?? 0))
      )
        return "broken";
      const rows = await store.pendingEvents(tx, key, BATCH);
      const links = chained(owner, head, rows);
      if (rows.length > 0)
        await store.addLinks(
          tx,
          key,
          links,
          rows.map(({ sequence }) => sequence),
        );
      await signEnd(tx, key, head, links.at(-1), patient);
      return rows.length;
    }, SKIP_REAUTHORIZATION);
  }

  async function signEnd(
    tx: Tx,
    key: string,
    head: HeadRow | undefined,
    last: NewLink | undefined,
    patient: boolean,
  ): Promise<void> {
    const end = last ?? head;
    if (end === undefined || (last === undefined && !patient)) return;
    const owner = store.chainOwner(key);
    const signer = await heads.keyOf(tx, owner);
    if (last === undefined && signer.kid === head?.kid) return;
    await store.putHead(
      tx,
      key,
      await heads.sign(signer, {
        org_uuid: owner,
        sequence: end.position,
        hash: end.hash,
        at: dateOf(clock).toISOString(),
      }),
    );
  }

  /**
   * Links one batch of each of the next chains with pending events; true when there are chains after them, or at the
   * end of the walk when a chain may have more.
   */
  async function linkPending({ signal }: { signal: AbortSignal }): Promise<boolean> {
    const keys = await store.pendingChains(database, walk.after, CHAINS);
    let { hasMore } = walk;
    for (const key of keys) {
      if (signal.aborted) return false;
      const linked = await linkBatch(key, false).catch((error: unknown) => {
        if (isAway(error)) throw error;
        log.error({ err: error, org_uuid: key }, "The new events of an audit chain are not linked");
        return 0;
      });
      hasMore ||= linked === BATCH;
      if (linked === "broken") reportBroken(key);
    }
    const last = keys.length === CHAINS ? keys.at(-1) : undefined;
    walk = last === undefined ? { after: null, hasMore: false } : { after: last, hasMore };
    return last !== undefined || hasMore;
  }

  /** Logs a broken chain once. */
  function reportBroken(key: string): void {
    if (broken.has(key)) return;
    broken.add(key);
    log.error(
      { org_uuid: key },
      "The end of an audit chain was not signed by this service; its new events are not linked",
    );
  }

  return {
    async linkAll(orgUuid) {
      for (;;) {
        const linked = await linkBatch(store.chainKey(orgUuid), true);
        if (linked !== BATCH) return linked !== "broken";
      }
    },
    poller: createPoller(
      { clock, ...deps },
      {
        name: "audit-linker",
        intervalMs: POLL_MS,
        backOff: { firstMs: 50, maxMs: POLL_MS },
        run: linkPending,
      },
    ),
  };
}

/** Returns the links of events that follow a head. An event that was removed before it was linked has none. */
function chained(
  owner: string | null,
  head: HeadRow | undefined,
  rows: readonly { sequence: string; event: AuditRecord | undefined }[],
): NewLink[] {
  const links: NewLink[] = [];
  let [position, previous] = [head?.position ?? 0, head?.hash ?? GENESIS];
  for (const { sequence, event } of rows) {
    if (event === undefined) continue;
    const payloadHash = hashEvent(printEvent(event));
    position++;
    previous = hashLink({
      org_uuid: owner,
      sequence: position,
      previous_hash: previous,
      event_id: event.eventId,
      created_at: event.createdAt.toISOString(),
      payload_hash: payloadHash,
    });
    links.push({
      position,
      eventSequence: sequence,
      eventId: event.eventId,
      createdAt: event.createdAt,
      payloadHash,
      hash: previous,
    });
  }
  return links;
}
