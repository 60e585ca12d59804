import type { Caller } from "../../platform/caller.ts";
import type { Database } from "../../platform/db/types.ts";
import type { InstallView, Installs } from "./installs.ts";

/** How often watched installs are looked at, all of them with one query. */
const LOOK_MS = 250;

/** Tells watchers that an install's timeline has grown, whichever instance wrote it. */
export function createWatch(database: Pick<Database, "prepared">, installs: Pick<Installs, "read">) {
  const watched = new Map<string, { newest: string; wake: Set<() => void> }>();
  let timer: NodeJS.Timeout | undefined;

  async function look(): Promise<void> {
    try {
      const rows = await database.prepared<{ install_id: string; newest: string }>(
        "install-watch", "select install_id, max(id)::text as newest from install_timeline where install_id = any($1::uuid[]) group by install_id", [[...watched.keys()]],
      );
      for (const { install_id: installId, newest } of rows) {
        const entry = watched.get(installId);
        if (entry === undefined || entry.newest === newest) continue;
        entry.newest = newest;
        entry.wake.forEach((wake) => wake());
      }
    } catch {
      // The database is away: watchers wait, and hear of it when it is back.
    }
    timer = watched.size === 0 ? undefined : setTimeout(() => void look(), LOOK_MS);
  }

  /** Resolves when the install has changed since the last time, or when `signal` ends. */
  function subscribe(installId: string, signal: AbortSignal): { next(): Promise<void>; end(): void } {
    const entry = watched.get(installId) ?? { newest: "", wake: new Set<() => void>() };
    watched.set(installId, entry);
    let pending = false;
    let resolve: (() => void) | undefined;
    const wake = (): void => {
      pending = true;
      resolve?.();
    };
    entry.wake.add(wake);
    signal.addEventListener("abort", wake, { once: true });
    timer ??= setTimeout(() => void look(), LOOK_MS);
    return {
      async next() {
        if (!pending) {
          await new Promise<void>((done) => {
            resolve = done;
          });
        }
        pending = false;
      },
      end() {
        entry.wake.delete(wake);
        if (entry.wake.size === 0) watched.delete(installId);
      },
    };
  }

  return {
    /**
     * The present record first, then one after each change, ending at `deprovisioned`. Reading is judged anew each
     * time, so whoever loses sight of the install loses the stream. Error: 404 install_not_found.
     */
    async *watch(caller: Caller, installId: string, signal: AbortSignal): AsyncIterable<InstallView> {
      const changes = subscribe(installId, signal);
      try {
        let told = -1;
        while (!signal.aborted) {
          const view = await installs.read(caller, installId);
          const lines = view.timeline?.length ?? 0;
          if (lines !== told) yield view;
          told = lines;
          if (view.install.status === "deprovisioned") return;
          await changes.next();
        }
      } finally {
        changes.end();
      }
    },
  };
}
