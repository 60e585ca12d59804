import { createBatches } from "./batches.ts";
import type { CallerContext } from "./context.ts";
import { isAway } from "./db/failure.ts";
import { waitShortly } from "./db/lock-wait.ts";
import type { Database, Tx } from "./db/types.ts";

interface Job<Q, A> {
  readonly context: CallerContext;
  readonly question: Q;
  /** Does the job in a transaction of its own. */
  alone(): Promise<A>;
}

/**
 * Does what several requests ask for in one transaction, because beginning, judging and committing cost more than the
 * work. It commits only while every caller still has the credential and power they were authenticated with
 * (decisions 2.4). When it fails, each request gets a transaction of its own, so that none fails, or waits for a lock
 * for long, because of another. A request with an Idempotency-Key or a deadline always has its own.
 *
 * `work` returns one answer for each question, in their order, or a promise of it that is awaited after the commit. It
 * may run again, and must have no effect other than through `tx`.
 * @param size maximum number of requests of a transaction
 */
export function createJointTransactions<Q, A>(
  database: Pick<Database, "transaction">,
  size: number,
  work: (tx: Tx, questions: readonly Q[]) => readonly (A | Promise<A>)[],
): (context: CallerContext, question: Q) => Promise<A> {
  /** Starts the work. The answers are wrapped, so that nobody awaits them before the commit. */
  function begin(tx: Tx, questions: readonly Q[]): Promise<{ answers: readonly Promise<A>[] }> {
    const answers = work(tx, questions).map((answer) => Promise.resolve(answer));
    for (const answer of answers) answer.catch(() => undefined);
    return Promise.resolve({ answers });
  }

  async function doTogether(jobs: readonly Job<Q, A>[]): Promise<readonly Promise<A>[]> {
    const [first] = jobs;
    if (first !== undefined && jobs.length === 1) return [first.alone()];
    try {
      const { answers } = await database.transaction(
        (tx) => {
          waitShortly(tx);
          return begin(
            tx,
            jobs.map(({ question }) => question),
          );
        },
        // Requests with one token share its caller.
        { reauthorize: [...new Set(jobs.map(({ context: { caller } }) => caller.reauthorize))] },
      );
      return answers;
    } catch (error) {
      if (isAway(error)) throw error;
      return jobs.map((job) => job.alone());
    }
  }

  const join = createBatches<Job<Q, A>, A>(size, doTogether);

  return (context, question) => {
    async function alone(): Promise<A> {
      const { answers } = await context.transaction((tx) => begin(tx, [question]));
      return (await Promise.all(answers))[0] as A;
    }
    const isOwn = context.effect !== undefined || context.signal !== undefined;
    return isOwn ? alone() : join({ context, question, alone });
  };
}
