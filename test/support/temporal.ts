import { randomBytes } from "node:crypto";
import { inject } from "vitest";
import { lazyConnection } from "../../src/platform/temporal/connection.ts";

/** Where workflows of a test run. */
export interface TestNamespace {
  address: string;
  namespace: string;
}

const PATIENCE_MS = 300_000;

/** The server of this test run with a new namespace, so that workers of other files do not take this one's tasks. */
export async function temporalServer(): Promise<TestNamespace> {
  const target = { address: inject("temporalAddress"), namespace: `test-${randomBytes(6).toString("hex")}` };
  const connection = lazyConnection(target);
  const until = Date.now() + PATIENCE_MS;
  const { workflowService } = connection;
  try {
    await insist(until, () =>
      workflowService.registerNamespace({
        namespace: target.namespace,
        workflowExecutionRetentionPeriod: { seconds: 86_400 } as never,
      }),
    );
    // The namespace becomes visible after a delay.
    await insist(until, () =>
      workflowService.listOpenWorkflowExecutions({ namespace: target.namespace, maximumPageSize: 1 }),
    );
    return target;
  } finally {
    await connection.close();
  }
}

async function insist(until: number, call: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await call();
      return;
    } catch (error) {
      if (Date.now() > until) throw new Error("the Temporal server of the tests does not answer", { cause: error });
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
