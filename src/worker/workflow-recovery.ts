import type { Recovery } from "../platform/domain.ts";
import { createPoller } from "../platform/poller.ts";
import type { Poller, PollerDeps, PollerOptions } from "../platform/poller.ts";

/** Settings of {@link createWorkflowRecovery}. */
export interface WorkflowRecoveryOptions extends PollerDeps, Partial<Pick<PollerOptions, "intervalMs" | "backOff">> {
  /** By the name of the kind in log lines. */
  kinds: Readonly<Record<string, Recovery>>;
}

/** Ids of one page, and concurrent starts. */
const PAGE = 500;
const CONCURRENCY = 8;

/**
 * Starts missing workflows. Rows say what has to happen; a workflow only waits and retries. If Temporal loses workflows
 * (lost data, another cluster or namespace), their rows would wait forever, so every waiting row gets a workflow again,
 * at start-up and periodically. A running workflow is left alone. Safe on several workers at once.
 */
export function createWorkflowRecovery(options: WorkflowRecoveryOptions): Poller {
  const { kinds, intervalMs = 300_000, backOff = { firstMs: 1_000, maxMs: 15_000 }, log } = options;
  return createPoller(options, {
    name: "workflow-recovery",
    intervalMs,
    backOff,
    async run({ signal }) {
      const failures: unknown[] = [];
      for (const [kind, rows] of Object.entries(kinds)) {
        try {
          const workflows = await recover(rows, signal);
          if (workflows > 0) log.info({ kind, workflows }, "Started the missing workflows of waiting rows");
        } catch (error) {
          // Those of the other kinds are started all the same.
          failures.push(error);
        }
      }
      if (failures.length > 0) throw failures[0];
    },
  });
}

/** Starts the missing workflows of one kind and returns their number. */
async function recover({ list, start }: Recovery, signal: AbortSignal): Promise<number> {
  let started = 0;
  for (let after: string | null = null; !signal.aborted; ) {
    const ids: string[] = await list(after, PAGE);
    started += await startEach(ids, start, signal);
    const last = ids.at(-1);
    if (last === undefined || ids.length < PAGE) break;
    after = last;
  }
  return started;
}

async function startEach(ids: readonly string[], start: Recovery["start"], signal: AbortSignal): Promise<number> {
  const left = [...ids];
  let started = 0;
  async function startNext(): Promise<void> {
    for (let id = left.shift(); id !== undefined && !signal.aborted; id = left.shift()) if (await start(id)) started++;
  }
  const results = await Promise.allSettled(
    Array.from({ length: CONCURRENCY }, () =>
      startNext().catch((error: unknown) => {
        left.length = 0;
        throw error;
      }),
    ),
  );
  for (const result of results) if (result.status === "rejected") throw result.reason;
  return started;
}
