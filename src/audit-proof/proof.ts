import { eventText, GENESIS, headText, linkText } from "./chain.ts";
import type { ExportedEvent, ExportedGap, ExportSummary } from "./chain.ts";
import type { ProofKey } from "./keys.ts";

/** Events may be purged at this age and no sooner (decisions 5). */
const SHORTEST_RETENTION_MS = 90 * 86_400_000;

/** Result of the verification of an export: it is valid when neither `problem` nor `missingKey` is set. */
export interface ProofResult {
  events: number;
  /** Links without events in the file: purged, or outside its times. */
  purged: number;
  outside: number;
  problem: { eventId: string | null; sequence: number | null; message: string } | null;
  /** The key that the head names, where the key set does not have it: anybody can write a chain that fits itself. */
  missingKey: string | null;
  head: ExportSummary["head"];
}

/** A link without its event, checked at the end of the file, where its times are known. */
type Missing = Pick<ExportedGap, "event_id" | "sequence" | "created_at" | "purged">;

/**
 * Verifies an export without the service: every event against its link, every link against the one before it, the gaps
 * against the retention period and the file's times, the end against the head's signature. Only the gaps are kept in
 * memory.
 */
export function createProof(keys: ReadonlyMap<string, ProofKey>) {
  const result: ProofResult = { events: 0, purged: 0, outside: 0, problem: null, missingKey: null, head: null };
  const missing: Missing[] = [];
  let owner: string | null = null;
  let last: { sequence: number; hash: string } | undefined;

  function fail(at: { event_id: string; sequence: number } | null, message: string): void {
    result.problem ??= { eventId: at?.event_id ?? null, sequence: at?.sequence ?? null, message };
  }

  /** Checks one link against the one before it; what the first link of a file follows is not known. */
  async function follow(link: Omit<ExportedGap, "purged">): Promise<void> {
    const { sequence, previous_hash: previous, event_id, created_at, payload_hash } = link;
    if (last === undefined && sequence === 1 && previous !== GENESIS)
      fail(link, "the chain does not begin with this event");
    if (last !== undefined && sequence !== last.sequence + 1)
      fail(
        link,
        `it is number ${sequence} and follows number ${last.sequence}: events were taken out, put in or moved`,
      );
    if (last !== undefined && previous !== last.hash) fail(link, "its link does not continue the one before it");
    const text = linkText({ org_uuid: owner, sequence, previous_hash: previous, event_id, created_at, payload_hash });
    if ((await sha256(text)) !== link.hash)
      fail(link, "it does not fit its link: the event or the link has been changed");
    last = { sequence, hash: link.hash };
  }

  function checkMissing({ from, to, head }: ExportSummary): void {
    const oldest = head === null ? Number.NEGATIVE_INFINITY : Date.parse(head.at) - SHORTEST_RETENTION_MS;
    for (const gap of missing) {
      const at = Date.parse(gap.created_at);
      if ((from !== null && at < Date.parse(from)) || (to !== null && at >= Date.parse(to))) result.outside++;
      else if (gap.purged && at <= oldest) result.purged++;
      else fail(gap, "the event is missing, and neither its age nor the file's times explain that");
    }
  }

  async function checkHead({ head }: ExportSummary): Promise<void> {
    if (head === null) return fail(null, "the file has no signed head");
    const key = keys.get(head.kid);
    if (last?.sequence !== head.sequence || last.hash !== head.hash)
      return fail(
        null,
        `the file ends with number ${last?.sequence ?? 0}, its signed head is number ${head.sequence}: ` +
          "events at its end were taken out or put in",
      );
    if (key === undefined) {
      result.missingKey = head.kid;
      return;
    }
    const facts = { org_uuid: owner, sequence: head.sequence, hash: head.hash, at: head.at };
    if (!(await key.verify(head.signature, headText(facts))))
      fail(null, "the signature of the head is not that of its key");
  }

  return {
    /** Checks the next event of the file. */
    async add(event: ExportedEvent): Promise<void> {
      result.events++;
      if (result.problem !== null) return;
      if (last === undefined) owner = event.org_uuid;
      if (event.org_uuid !== owner) fail(event, "it belongs to another organization than the first");
      const gaps = event.before ?? [];
      if (last === undefined && gaps.length === 0 && event.sequence !== 1)
        fail(event, "the file begins in the middle of the chain without saying why");
      for (const gap of gaps) {
        await follow(gap);
        missing.push({
          event_id: gap.event_id,
          sequence: gap.sequence,
          created_at: gap.created_at,
          purged: gap.purged,
        });
      }
      await follow({ ...event, payload_hash: await sha256(eventText(event)) });
    },

    /** Checks the summary of the file and returns the result. */
    async end(summary: ExportSummary | undefined): Promise<ProofResult> {
      if (result.problem === null && summary === undefined)
        fail(null, "the file is not whole: what an export ends with is missing");
      if (summary === undefined || result.problem !== null) return result;
      if (summary.total !== result.events) fail(null, `the file has ${result.events} events and says ${summary.total}`);
      checkMissing(summary);
      if (result.events > 0) await checkHead(summary);
      return { ...result, head: summary.head };
    },
  };
}

const encoder = new TextEncoder();

async function sha256(text: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(text)));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
