import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/types.ts";
import { createLivenessCache } from "./cache.ts";
import type { Known } from "./cache.ts";
import type { Credential } from "./credential.ts";
import { KINDS } from "./kinds.ts";
import type { Kind, KindName, RowOf } from "./kinds.ts";
import type { LiveRow } from "./rows.ts";
import { readChanges, readLive } from "./store.ts";
import type { Moment } from "./store.ts";

/** Maximum number of batches in flight: two keep the connections busy, more would only make the batches smaller. */
const MAX_BATCHES = 2;
/** Number of credentials whose rows are cached. */
const MAX_CACHED_ROWS = 50_000;

interface Question {
  readonly credential: Credential;
  known: Known | undefined;
  readonly resolve: (row: LiveRow | undefined) => void;
  readonly reject: (cause: unknown) => void;
}

/** Returns what is true of a credential at this moment; undefined when it must be refused. */
export type Liveness = <K extends KindName>(credential: Credential<K>) => Promise<RowOf<K> | undefined>;

/**
 * Creates the check of credentials of every kind. It asks the database about every credential on every request, in
 * batches: the questions of one turn of the event loop share one query. A question never joins a query that was sent
 * before it was asked, so the next request after an acknowledged revocation sees it.
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
      question.known = cache.get(question.credential.name);
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
    const asked = new Map(questions.map(({ credential }) => [credential.name, credential]));
    const [from, before] = [since, removals];
    try {
      const found = await readLive(database, [...asked.values()], dateOf(clock));
      if (from !== undefined && removals === before)
        for (const [name, row] of found) {
          const subjects = subjectsOf(row, asked.get(name));
          if (subjects !== undefined) cache.set(name, row, subjects);
        }
      for (const { credential, resolve } of questions) resolve(found.get(credential.name));
    } catch (cause) {
      rejectAll(questions, cause);
    }
  }

  function dropAll(): void {
    removals++;
    cache.clear();
  }

  return <K extends KindName>(credential: Credential<K>) =>
    new Promise<RowOf<K> | undefined>((resolve, reject) => {
      waiting.push({ credential, known: undefined, resolve: resolve as Question["resolve"], reject });
      schedule();
    });
}

function subjectsOf(row: LiveRow, asked: Credential | undefined): readonly string[] | undefined {
  if (asked === undefined) throw new Error("a row was read that no credential asked for");
  return (KINDS[asked.kind] as Kind<LiveRow>).dependsOn(row, asked.id);
}

function rejectAll(questions: readonly Question[], cause: unknown): void {
  for (const { reject } of questions) reject(cause);
}
