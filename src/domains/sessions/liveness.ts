import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/types.ts";
import { createLivenessCache } from "./liveness-cache.ts";
import type { Known } from "./liveness-cache.ts";
import { readChanges, readLiveness } from "./liveness-store.ts";
import type { LiveRow, Moment } from "./liveness-store.ts";

/** Maximum number of batches in flight: two keep the connections busy, more would only make the batches smaller. */
const MAX_BATCHES = 2;
/** Number of sessions whose rows are cached. */
const MAX_CACHED_ROWS = 50_000;

/** A session, and the key that signed its token. */
export interface SessionKey {
  readonly sid: string;
  readonly kid: string;
  /** Both of them as one text: the key of the cache. */
  readonly name: string;
}

/** The session and the signing key of a token. */
export function sessionKey(sid: string, kid: string): SessionKey {
  return { sid, kid, name: `${sid}/${kid}` };
}

interface Question {
  readonly session: SessionKey;
  known: Known | undefined;
  readonly resolve: (row: LiveRow | undefined) => void;
  readonly reject: (cause: unknown) => void;
}

/** Returns what is true of a session and its key at this moment; undefined when its tokens must be refused. */
export type Liveness = (session: SessionKey) => Promise<LiveRow | undefined>;

/**
 * Creates the check of sessions. It asks the database about every token on every request, in batches: the questions of
 * one turn of the event loop share one query. A question never joins a query that was sent before it was asked, so the
 * next request after an acknowledged revocation sees it.
 *
 * Rows are cached. For a cached row the question is whether anything it depends on was committed since it was read:
 * one short query for all of them. Whatever cannot be distinguished from a change counts as one.
 */
export function createLiveness({ database, clock }: { database: Database; clock: Clock }): Liveness {
  const cache = createLivenessCache(MAX_CACHED_ROWS);
  /** Changes committed up to this moment have been removed from the cache. */
  let since: Moment | undefined;
  /** Incremented with every removal: rows that were being read at that time may be older than the change. */
  let removals = 0;
  let waiting: Question[] = [];
  let isScheduled = false;
  let batches = 0;

  function schedule(): void {
    if (isScheduled || batches >= MAX_BATCHES || waiting.length === 0) return;
    isScheduled = true;
    setImmediate(send);
  }

  function send(): void {
    isScheduled = false;
    const known: Question[] = [];
    const unknown: Question[] = [];
    for (const question of waiting) {
      question.known = cache.get(question.session.name);
      (question.known === undefined ? unknown : known).push(question);
    }
    waiting = [];
    batches++;
    void Promise.all([confirm(known).then(load), load(unknown)]).finally(() => {
      batches--;
      schedule();
    });
    schedule();
  }

  /** Resolves the questions whose rows have not changed, and returns the others. */
  async function confirm(questions: readonly Question[]): Promise<readonly Question[]> {
    if (questions.length === 0 && since !== undefined) return questions;
    try {
      const { now, subjects } = await readChanges(database, since);
      since = now;
      if (subjects === undefined) dropAll();
      else if (subjects.length > 0) {
        removals++;
        for (const subject of subjects) cache.drop(subject);
      }
    } catch (cause) {
      since = undefined;
      dropAll();
      rejectAll(questions, cause);
      return [];
    }
    const time = clock.now();
    const rest: Question[] = [];
    for (const question of questions) {
      const { known } = question;
      if (known?.holds === true && known.row.until > time) question.resolve(known.row);
      else rest.push(question);
    }
    return rest;
  }

  /** Resolves questions by reading, and caches the rows unless something changed meanwhile. */
  async function load(questions: readonly Question[]): Promise<void> {
    if (questions.length === 0) return;
    const first = new Map(questions.map(({ session }) => [session.name, session]));
    const asked = [...first.values()];
    const [from, before] = [since, removals];
    try {
      const rows = await readLiveness(
        database,
        asked.map(({ sid }) => sid),
        asked.map(({ kid }) => kid),
        dateOf(clock),
      );
      const found = new Map(asked.map(({ name }, at) => [name, rows[at]]));
      if (from !== undefined && removals === before) {
        for (const { name, sid } of asked) {
          const row = found.get(name);
          if (row !== undefined) cache.set(name, sid, row);
        }
      }
      for (const { session, resolve } of questions) resolve(found.get(session.name));
    } catch (cause) {
      rejectAll(questions, cause);
    }
  }

  function dropAll(): void {
    removals++;
    cache.clear();
  }

  return (session) =>
    new Promise((resolve, reject) => {
      waiting.push({ session, known: undefined, resolve, reject });
      schedule();
    });
}

function rejectAll(questions: readonly Question[], cause: unknown): void {
  for (const { reject } of questions) reject(cause);
}
