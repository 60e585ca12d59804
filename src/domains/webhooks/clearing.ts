import type { Database } from "../../platform/db/types.ts";
import type { Log } from "../../platform/log.ts";
import { withoutTrace } from "../../platform/tracing.ts";
import { clearSome } from "./clearing-store.ts";

/** Works off what disabled and deleted webhooks leave, batch by batch, whenever it is asked to look. */
export function createClearing({ database, log }: { database: Pick<Database, "prepared">; log: Log }) {
  let working: Promise<void> | undefined;
  let stopped = false;

  async function work(): Promise<void> {
    try {
      while (!stopped && (await clearSome(database)));
    } catch (error) {
      log.debug(
        { err: error },
        "deliveries of disabled and deleted webhooks could not be worked off; tried again at the next poll",
      );
    }
  }

  return {
    look(): void {
      if (stopped) return;
      working ??= withoutTrace(work).finally(() => {
        working = undefined;
      });
    },
    /** Resolves when the batch that is under way is done. */
    async stop(): Promise<void> {
      stopped = true;
      await working;
    },
  };
}
