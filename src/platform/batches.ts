import { AsyncLocalStorage } from "node:async_hooks";

/** Default number of batches in flight: two keep the connections busy, more would only make the batches smaller. */
const IN_FLIGHT = 2;

/** How large batches are, besides their maximum number of questions. */
export interface BatchOptions<Q> {
  /**
   * Maximum number of batches in flight. With one, questions wait for the batch before theirs, and batches are as large
   * as they can be: for what costs more per batch than per question.
   */
  readonly inFlight?: number;
  /** Size of a question. Default 0. */
  readonly sizeOf?: (question: Q) => number;
  /** Maximum total size of a batch, in the unit of `sizeOf`; a larger question is a batch of its own. */
  readonly maxSize?: number;
}

interface Waiting<Q, A> {
  readonly question: Q;
  readonly resolve: (answer: A | Promise<A>) => void;
  readonly reject: (cause: unknown) => void;
}

/**
 * Answers the questions of one turn of the event loop together, at most `size` at once. A question never joins a batch
 * that was sent before it was asked. `answer` returns one answer for each question, in their order, or a promise of it,
 * for which the next batch does not wait; when it rejects, every question of the batch does. It runs outside the
 * context of any request: a batch serves many, and must neither wait for the quota of one organization nor appear in
 * the trace of one request.
 */
export function createBatches<Q, A>(
  size: number,
  answer: (questions: readonly Q[]) => Promise<readonly (A | Promise<A>)[]>,
  { inFlight = IN_FLIGHT, sizeOf = () => 0, maxSize = Infinity }: BatchOptions<Q> = {},
): (question: Q) => Promise<A> {
  const outside = AsyncLocalStorage.snapshot();
  let waiting: Waiting<Q, A>[] = [];
  let isScheduled = false;
  let running = 0;

  function schedule(): void {
    if (isScheduled || running >= inFlight || waiting.length === 0) return;
    isScheduled = true;
    outside(() => setImmediate(send));
  }

  function next(): Waiting<Q, A>[] {
    let count = 0;
    let total = 0;
    for (const { question } of waiting) {
      total += sizeOf(question);
      if (count === size || (count > 0 && total > maxSize)) break;
      count++;
    }
    const batch = waiting.slice(0, count);
    waiting = waiting.slice(count);
    return batch;
  }

  function send(): void {
    isScheduled = false;
    const batch = next();
    running++;
    void settle(batch).finally(() => {
      running--;
      schedule();
    });
    schedule();
  }

  async function settle(batch: readonly Waiting<Q, A>[]): Promise<void> {
    try {
      const answers = await answer(batch.map(({ question }) => question));
      batch.forEach(({ resolve }, at) => resolve(answers[at] as A | Promise<A>));
    } catch (cause) {
      for (const { reject } of batch) reject(cause);
    }
  }

  return (question) =>
    new Promise((resolve, reject) => {
      waiting.push({ question, resolve, reject });
      schedule();
    });
}
