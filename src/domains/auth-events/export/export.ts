import type { Clock } from "../../../platform/clock.ts";
import { dateOf } from "../../../platform/clock.ts";
import type { CallerContext } from "../../../platform/context.ts";
import type { Database } from "../../../platform/db/types.ts";
import { GENESIS } from "../../../audit-proof/index.ts";
import type { ExportedEvent, ExportedGap, ExportSummary } from "../../../audit-proof/index.ts";
import { hashLink, printEvent } from "../chain/hashing.ts";
import * as store from "../chain/store.ts";
import type { HeadRow, LinkRow } from "../chain/store.ts";
import { exportFormats, formatOfMedia } from "./format.ts";
import type { ExportFormat } from "./format.ts";
import { causedBy, EVENTS } from "../../event-catalogue/index.ts";
import type { Events } from "../../event-catalogue/index.ts";
import type { Heads } from "../chain/heads.ts";
import type { Linker } from "../chain/linker.ts";
import { parseRange } from "../rules.ts";

/** Events read at a time, and characters sent at a time: an export keeps no more in memory. */
const PAGE = 500;
const CHUNK = 64 * 1024;
/** Links read at a time where their events are not needed: they are hashed without a pause. */
const LINKS = 1_000;

/** Which events to export. */
export interface ExportQuery {
  orgUuid: string;
  /** `json`, `csv` or `ndjson`; empty or absent: by media type. */
  format?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

/** How an export is requested. */
export interface ExportRequest {
  /** Media type negotiated by `Accept`. */
  mediaType: string;
  /** A HEAD request, which is not recorded in the log. */
  headOnly: boolean;
}

/** An exported file as a stream. */
export interface ExportFile {
  contentType: string;
  fileName: string;
  /** At least one chunk, which may be empty. */
  chunks: AsyncIterable<Uint8Array>;
}

/** Dependencies of exports. */
export interface ExportDeps {
  database: Database;
  clock: Clock;
  events: Pick<Events, "emit">;
}

type Range = ReturnType<typeof parseRange>;

/** Exports of the complete log of an organization, in the order of its chain. */
export function createExport({ database, clock, events }: ExportDeps, linker: Linker, heads: Heads) {
  /** Yields every event of a range, with the links between them. */
  async function* exported(
    key: string,
    owner: string,
    { first, last }: { first: number; last: number },
    range: Range,
  ): AsyncGenerator<ExportedEvent> {
    // The link before the first event shows why the export does not begin at the start of the chain.
    const [earlier] = first > 1 ? await store.bareLinksAfter(database, key, Math.max(0, first - 3), first - 2, 1) : [];
    let [position, previous] = [Math.max(0, first - 2), earlier?.hash ?? GENESIS];
    let before: ExportedGap[] = [];
    while (position < last) {
      const links = await store.linksAfter(database, key, position, last, PAGE);
      if (links.length === 0) return;
      for (const link of links) {
        const { event, hash } = link;
        if (event === undefined || !within(event.createdAt, range)) before.push(gapOf(link, previous));
        else {
          yield {
            ...printEvent(event),
            sequence: link.position,
            previous_hash: previous,
            hash,
            ...(before.length === 0 ? {} : { before }),
          };
          before = [];
        }
        [position, previous] = [link.position, hash];
      }
    }
  }

  /**
   * Returns the signed head of an export. A position before the chain's head is signed only when the links from there
   * lead to the head.
   */
  async function headAt(
    key: string,
    owner: string,
    position: number,
    head: HeadRow | undefined,
  ): Promise<HeadRow | undefined> {
    if (head === undefined || position === head.position) return head;
    const [start] = await store.bareLinksAfter(database, key, position - 1, position, 1);
    if (start === undefined) return undefined;
    let [at, previous] = [position, start.hash];
    while (at < head.position) {
      const links = await store.bareLinksAfter(database, key, at, head.position, LINKS);
      if (links.length === 0) return undefined;
      for (const link of links) {
        if (link.position !== at + 1 || link.hash !== hashOf(owner, link, previous)) return undefined;
        [at, previous] = [link.position, link.hash];
      }
    }
    if (previous !== head.hash) return undefined;
    return database.transaction(async (tx) =>
      heads.sign(await heads.keyOf(tx, owner), {
        org_uuid: owner,
        sequence: position,
        hash: start.hash,
        at: dateOf(clock).toISOString(),
      }),
    );
  }

  return {
    /**
     * Begins an export, and records it in the log after the exported events.
     * @throws {invalid_date_range} when `from` or `to` is no ISO 8601 time, or `from` is after `to`
     */
    async export(
      context: CallerContext,
      query: ExportQuery,
      { mediaType, headOnly }: ExportRequest,
    ): Promise<ExportFile> {
      const range = parseRange(query.from, query.to);
      const name =
        query.format === undefined || query.format === "" ? (formatOfMedia[mediaType] ?? "json") : query.format;
      const format = exportFormats[name] as ExportFormat;
      const owner = query.orgUuid.toLowerCase();
      const key = store.chainKey(owner);
      const ours = await linker.linkAll(owner);
      const head = ours ? await database.transaction((tx) => store.headOf(tx, key)) : undefined;
      const span = await store.spanOf(database, key, range.from, range.to, head?.position);
      const [from, to] = [range.from?.toISOString() ?? null, range.to?.toISOString() ?? null];
      const metadata = { format: name, from, to };
      if (!headOnly)
        await context.transaction((tx) =>
          events.emit(tx, EVENTS["audit.exported"], {
            by: causedBy(context),
            orgUuid: owner,
            resourceId: owner,
            metadata,
          }),
        );
      const rows = span === undefined ? none() : exported(key, owner, span, range);
      const summary = async (total: number): Promise<ExportSummary> => {
        const end = span === undefined ? undefined : await headAt(key, owner, span.last, head);
        return { total, from, to, head: printHead(end) };
      };
      const day = dateOf(clock).toISOString().slice(0, 10);
      return {
        contentType: format.contentType,
        fileName: `audit-events-${owner}-${day}.${format.extension}`,
        chunks: chunked(written(format, rows, summary)),
      };
    },
  };
}

/**
 * The text of an export, event by event; one event is held back so that the last one is known. The summary, which may
 * take long, follows the other events; undefined in their place asks to send what there is.
 */
async function* written(
  format: ExportFormat,
  rows: AsyncIterable<ExportedEvent>,
  summarize: (total: number) => Promise<ExportSummary>,
): AsyncGenerator<string | undefined> {
  yield format.open;
  let total = 0;
  let held: ExportedEvent | undefined;
  for await (const row of rows) {
    if (held !== undefined) yield format.row(held, total === 1, undefined);
    held = row;
    total++;
  }
  yield undefined;
  const summary = format.hasSummary ? await summarize(total) : undefined;
  if (held !== undefined) yield format.row(held, total === 1, summary);
  if (summary !== undefined) yield format.close(summary);
}

async function* chunked(texts: AsyncIterable<string | undefined>): AsyncGenerator<Uint8Array> {
  let waiting = "";
  for await (const text of texts) {
    waiting += text ?? "";
    if (text !== undefined && waiting.length < CHUNK) continue;
    yield Buffer.from(waiting, "utf8");
    waiting = "";
  }
  yield Buffer.from(waiting, "utf8");
}

async function* none(): AsyncGenerator<never> {
  // The range has no events.
}

function within(at: Date, { from, to }: Range): boolean {
  return (from === undefined || at >= from) && (to === undefined || at < to);
}

function gapOf({ position, eventId, createdAt, payloadHash, hash, purged }: LinkRow, previous: string): ExportedGap {
  return {
    sequence: position,
    previous_hash: previous,
    hash,
    event_id: eventId,
    created_at: createdAt.toISOString(),
    payload_hash: payloadHash,
    purged,
  };
}

function hashOf(
  owner: string,
  { position, eventId, createdAt, payloadHash }: Omit<LinkRow, "event">,
  previous: string,
): string {
  return hashLink({
    org_uuid: owner,
    sequence: position,
    previous_hash: previous,
    event_id: eventId,
    created_at: createdAt.toISOString(),
    payload_hash: payloadHash,
  });
}

/** Prints a head as the contract shows it. */
export function printHead(head: HeadRow | undefined): ExportSummary["head"] {
  if (head === undefined) return null;
  return {
    sequence: head.position,
    hash: head.hash,
    signature: head.signature.toString("base64url"),
    kid: head.kid,
    at: head.at.toISOString(),
  };
}
