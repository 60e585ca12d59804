import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import { ofService } from "../../platform/db/types.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import type { Log } from "../../platform/log.ts";
import { GENESIS, hashEvent, hashLink, printEvent } from "./chain.ts";
import * as store from "./chain-store.ts";
import type { HeadRow, NewLink } from "./chain-store.ts";
import type { AuditRecord } from "../audit-record/index.ts";
import type { Heads } from "./heads.ts";

/** Events of one transaction. */
const BATCH = 1_000;
/** Chains looked at in one round. */
const CHAINS = 200;
const POLL_MS = 1_000;

/** What linking needs. */
export interface LinkerDeps {
  database: Database;
  clock: Clock;
  log: Log;
}

/**
 * What became of an attempt to link: how many events, `busy` when another instance is at it, `broken` for a head that
 * is not ours or not the end.
 */
export type Linked = number | "busy" | "broken";

/**
 * Links new events into the chains of their organizations, beside their writers: those only queue an event, so they
 * never wait for each other. A chain's order is that in which events become visible, which is that of their sequences
 * but for transactions that took long.
 */
export function createLinker({ database: { background: database }, clock, log }: LinkerDeps, heads: Heads) {
  const broken = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let working: Promise<void> | undefined;
  let stopped = true;

  /** One batch. With `patient` it waits for other instances, and signs again a head whose key is not the active one. */
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
    }, ofService);
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

  /** Links what is waiting in every chain, a batch of each at a time. */
  async function round(): Promise<void> {
    for (
      let keys = await store.pendingChains(database, CHAINS), more = true;
      more && !stopped;
      keys = await store.pendingChains(database, CHAINS)
    ) {
      more = false;
      for (const key of keys) {
        if (stopped) return;
        const linked = await linkBatch(key, false);
        more ||= linked === BATCH;
        if (linked === "broken") complain(key);
      }
    }
  }

  function complain(key: string): void {
    if (broken.has(key)) return;
    broken.add(key);
    log.error(
      { org_uuid: key },
      "the end of an audit chain was not made by this service; its new events are not linked",
    );
  }

  function look(): void {
    working ??= round()
      .catch((error: unknown) =>
        log.debug({ err: error }, "audit events could not be linked; tried again at the next poll"),
      )
      .finally(() => {
        working = undefined;
      });
  }

  return {
    /** Links everything of one organization that can be seen now; false when its head is not ours. */
    async linkAll(orgUuid: string | null): Promise<boolean> {
      for (;;) {
        const linked = await linkBatch(store.chainKey(orgUuid), true);
        if (linked !== BATCH) return linked !== "broken";
      }
    },
    start(): void {
      stopped = false;
      timer = setInterval(look, POLL_MS);
      look();
    },
    /** Takes nothing more; resolves when the batch in hand is done. */
    async stop(): Promise<void> {
      stopped = true;
      clearInterval(timer);
      await working;
    },
  };
}

/** The links of events that follow a head; an event that is gone before it was linked has none. */
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

/** Links events into chains. */
export type Linker = ReturnType<typeof createLinker>;
