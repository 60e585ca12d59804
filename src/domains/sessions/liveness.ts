import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/types.ts";
import { createLivenessCache } from "./liveness-cache.ts";
import type { Known } from "./liveness-cache.ts";
import { readChanges, readLiveness } from "./liveness-store.ts";
import type { LiveRow, Moment } from "./liveness-store.ts";

/** Batches under way at once. Two keep the connections busy; more would only make the batches smaller. */
const atOnce = 2;
/** Sessions whose rows are kept. */
const kept = 50_000;

interface Question {
  name: string;
  sid: string;
  kid: string;
  known: Known | undefined;
  resolve: (row: LiveRow | undefined) => void;
  reject: (cause: unknown) => void;
}

/** What is known of a session and its key at the moment of asking; undefined when a token of it must be refused. */
export type Liveness = (sid: string, kid: string) => Promise<LiveRow | undefined>;

/**
 * Asks the database about every token on every request, in batches: what is asked in one turn of the event loop
 * goes in one query. A question never joins a query that was sent before it was asked, so a revocation that has
 * been answered is seen by whoever asks next.
 *
 * What was read of a session is kept, and the question about it is then whether anything has been committed since that
 * it stands on: one short query for all of them. What cannot be told apart from a change counts as one.
 */
export function createLiveness({ database, clock }: { database: Database; clock: Clock }): Liveness {
  const cache = createLivenessCache(kept);
  /** All that was committed up to here has been taken out of the cache. */
  let since: Moment | undefined;
  /** Grows whenever something was taken out: what was being read at that time may be older than that. */
  let taken = 0;
  let waiting: Question[] = [];
  let scheduled = false;
  let underWay = 0;

  function schedule(): void {
    if (scheduled || underWay >= atOnce || waiting.length === 0) return;
    scheduled = true;
    setImmediate(send);
  }

  function send(): void {
    scheduled = false;
    const known: Question[] = [];
    const unknown: Question[] = [];
    for (const question of waiting) {
      question.known = cache.get(question.name);
      (question.known === undefined ? unknown : known).push(question);
    }
    waiting = [];
    underWay++;
    void Promise.all([confirm(known).then(load), load(unknown)]).finally(() => {
      underWay--;
      schedule();
    });
    schedule();
  }

  /** Answers the questions about which nothing has changed, and returns the others. */
  async function confirm(questions: readonly Question[]): Promise<readonly Question[]> {
    if (questions.length === 0 && since !== undefined) return questions;
    try {
      const { now, subjects } = await readChanges(database, since);
      since = now;
      if (subjects === undefined) forget();
      else if (subjects.length > 0) {
        taken++;
        for (const subject of subjects) cache.drop(subject);
      }
    } catch (cause) {
      since = undefined;
      forget();
      refuse(questions, cause);
      return [];
    }
    const time = clock.now();
    return questions.filter(({ known, resolve }) => {
      if (known?.holds !== true || known.row.until <= time) return true;
      resolve(known.row);
      return false;
    });
  }

  /** Answers questions by reading, and keeps what was read unless something changed meanwhile. */
  async function load(questions: readonly Question[]): Promise<void> {
    if (questions.length === 0) return;
    const first = new Map(questions.map((question) => [question.name, question]));
    const asked = [...first.values()];
    const [from, before] = [since, taken];
    try {
      const rows = await readLiveness(
        database,
        asked.map(({ sid }) => sid),
        asked.map(({ kid }) => kid),
        dateOf(clock),
      );
      const found = new Map(asked.map(({ name }, at) => [name, rows[at]]));
      if (from !== undefined && taken === before) for (const { name, sid } of asked) keep(name, sid, found.get(name));
      for (const { name, resolve } of questions) resolve(found.get(name));
    } catch (cause) {
      refuse(questions, cause);
    }
  }

  function keep(name: string, sid: string, row: LiveRow | undefined): void {
    if (row !== undefined) cache.set(name, sid, row);
  }

  function forget(): void {
    taken++;
    cache.clear();
  }

  return (sid, kid) =>
    new Promise((resolve, reject) => {
      waiting.push({ name: `${sid}/${kid}`, sid, kid, known: undefined, resolve, reject });
      schedule();
    });
}

function refuse(questions: readonly Question[], cause: unknown): void {
  for (const { reject } of questions) reject(cause);
}
