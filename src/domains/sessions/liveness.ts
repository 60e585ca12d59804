import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/types.ts";
import { readLiveness } from "./store.ts";
import type { LiveRow } from "./store.ts";

/** Queries under way at once. Two keep the connection busy; more would only make the batches smaller. */
const atOnce = 2;

interface Question {
  sid: string;
  kid: string;
  settle: { resolve: (row: LiveRow | undefined) => void; reject: (cause: unknown) => void }[];
}

/** What is known of a session and its key at the moment of asking; undefined when a token of it must be refused. */
export type Liveness = (sid: string, kid: string) => Promise<LiveRow | undefined>;

/**
 * Asks the database about every token on every request, in batches: what is asked in one turn of the event loop
 * goes in one query. A question never joins a query that was sent before it was asked, so a revocation that has
 * been answered is seen by whoever asks next.
 */
export function createLiveness({ database, clock }: { database: Database; clock: Clock }): Liveness {
  let waiting = new Map<string, Question>();
  let scheduled = false;
  let underWay = 0;

  function schedule(): void {
    if (scheduled || underWay >= atOnce || waiting.size === 0) return;
    scheduled = true;
    setImmediate(send);
  }

  function send(): void {
    scheduled = false;
    const questions = [...waiting.values()];
    waiting = new Map();
    underWay++;
    readLiveness(database, questions.map((question) => question.sid), questions.map((question) => question.kid), dateOf(clock))
      .then((rows) => answer(questions, rows), (cause: unknown) => refuse(questions, cause))
      .finally(() => {
        underWay--;
        schedule();
      });
    schedule();
  }

  return (sid, kid) =>
    new Promise((resolve, reject) => {
      const name = `${sid}/${kid}`;
      const question = waiting.get(name);
      if (question === undefined) waiting.set(name, { sid, kid, settle: [{ resolve, reject }] });
      else question.settle.push({ resolve, reject });
      schedule();
    });
}

function answer(questions: readonly Question[], rows: readonly LiveRow[]): void {
  const found: (LiveRow | undefined)[] = new Array<undefined>(questions.length).fill(undefined);
  for (const row of rows) found[row.n - 1] = row;
  questions.forEach((question, at) => question.settle.forEach(({ resolve }) => resolve(found[at])));
}

function refuse(questions: readonly Question[], cause: unknown): void {
  for (const question of questions) for (const { reject } of question.settle) reject(cause);
}
