import { callerOrg } from "../../../platform/caller.ts";
import type { CallerContext } from "../../../platform/context.ts";
import { createFailureLog } from "../../../platform/db/failure-log.ts";
import type { MarketplaceDeps } from "../deps.ts";
import { marketplaceErrors } from "../errors.ts";
import type { InstallView } from "./read-install.ts";
import { statesBetween } from "./states-between.ts";
import { currentVersions, watchedInstalls } from "./watch-store.ts";
import type { WatchedInstall } from "./watch-store.ts";

/** Interval of reading the versions of all watched installs, with one statement. */
const POLL_MS = 250;
/** Installs that one statement reads. */
const READ_BATCH = 100;
/** Watchers that are notified before the event loop continues with other work. */
const NOTIFY_BATCH = 25;

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The present state of an install, undefined when there is none; or why it could not be read. */
type Update = { found: WatchedInstall | undefined } | { failure: unknown };

interface Watched {
  version: string | undefined;
  /** Watchers that have received nothing yet. */
  fresh: Set<Watcher>;
  /** Watchers that have received the present version. */
  current: Set<Watcher>;
}

interface Watcher {
  notify(update: Update): void;
}

/**
 * Streams changes of installs, whichever instance makes them. Each change is read once, on connections of their own,
 * however many watchers the install has; watchers are notified in batches.
 */
export function createWatch({ database, log }: MarketplaceDeps) {
  const watched = new Map<string, Watched>();
  /** What came before a state, for all its watchers, which mostly have received the same. */
  const passed = new WeakMap<InstallView, { before: InstallView; states: readonly InstallView[] }>();
  const toRead = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let isReading = false;
  const failures = createFailureLog(log, "The changes of watched installs could not be read");

  async function notifyAll(watchers: readonly Watcher[], update: Update): Promise<void> {
    for (let from = 0; from < watchers.length; from += NOTIFY_BATCH) {
      for (const watcher of watchers.slice(from, from + NOTIFY_BATCH)) watcher.notify(update);
      await nextTurn();
    }
  }

  /** Reads some installs and notifies their fresh watchers, and where the version has changed all others. */
  async function read(installIds: readonly string[]): Promise<void> {
    const freshOf = new Map(installIds.map((id) => [id, [...(watched.get(id)?.fresh ?? [])]]));
    let rows: ReadonlyMap<string, WatchedInstall>;
    try {
      rows = await watchedInstalls(database, installIds);
    } catch (failure) {
      // The database is unavailable: fresh watchers fail, the others receive changes once it is back.
      for (const fresh of freshOf.values()) await notifyAll(fresh, { failure });
      return;
    }
    for (const [id, fresh] of freshOf) {
      const entry = watched.get(id);
      if (entry === undefined) continue;
      const found = rows.get(id);
      const receivers = [...(found?.version === entry.version ? [] : entry.current), ...fresh];
      entry.version = found?.version;
      for (const watcher of fresh) if (entry.fresh.delete(watcher)) entry.current.add(watcher);
      await notifyAll(receivers, { found });
    }
  }

  /** Reads the requested installs in batches, with those that are requested meanwhile. */
  async function readRequested(): Promise<void> {
    if (isReading) return;
    isReading = true;
    await nextTurn();
    while (toRead.size > 0) {
      const ids = [...toRead].slice(0, READ_BATCH);
      for (const id of ids) toRead.delete(id);
      await read(ids);
    }
    isReading = false;
  }

  async function poll(): Promise<void> {
    try {
      for (const { installId, version } of await currentVersions(database, [...watched.keys()])) {
        const entry = watched.get(installId);
        if (entry?.version !== undefined && entry.version !== version) toRead.add(installId);
      }
      await readRequested();
      failures.succeeded();
    } catch (error) {
      // Nothing is lost: watchers receive the changes once they can be read.
      failures.failed(error);
    }
    timer = watched.size === 0 ? undefined : setTimeout(() => void poll(), POLL_MS);
  }

  function statesSince(before: InstallView | undefined, now: InstallView): readonly InstallView[] {
    if (before === undefined) return [];
    const known = passed.get(now);
    if (known?.before === before) return known.states;
    const states = statesBetween(before, now);
    passed.set(now, { before, states });
    return states;
  }

  /** Subscribes to an install, beginning with its present state; ends with the signal. */
  function subscribe(installId: string, signal: AbortSignal): { next(): Promise<Update | undefined>; end(): void } {
    const entry = watched.get(installId) ?? {
      version: undefined,
      fresh: new Set<Watcher>(),
      current: new Set<Watcher>(),
    };
    watched.set(installId, entry);
    let latest: Update | undefined;
    let wake: (() => void) | undefined;
    const watcher: Watcher = {
      // Only the newest read is kept for a slow watcher; the states before it are made from its timeline.
      notify(update) {
        latest = update;
        wake?.();
      },
    };
    entry.fresh.add(watcher);
    toRead.add(installId);
    void readRequested();
    timer ??= setTimeout(() => void poll(), POLL_MS);
    const aborted = (): void => wake?.();
    signal.addEventListener("abort", aborted, { once: true });
    return {
      async next() {
        if (latest === undefined && !signal.aborted) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
        const update = latest;
        latest = undefined;
        return update;
      },
      end() {
        signal.removeEventListener("abort", aborted);
        entry.fresh.delete(watcher);
        entry.current.delete(watcher);
        if (entry.fresh.size + entry.current.size === 0 && watched.get(installId) === entry) watched.delete(installId);
      },
    };
  }

  return {
    /**
     * Yields the present state, then the state after each change until `deprovisioned`. Whether the caller may read the
     * install is checked at every read.
     * @throws {install_not_found} when the caller's organization has no such install
     */
    async *watch({ caller }: CallerContext, installId: string, signal: AbortSignal): AsyncIterable<InstallView> {
      const orgUuid = callerOrg(caller);
      const updates = subscribe(installId.toLowerCase(), signal);
      let last: InstallView | undefined;
      try {
        for (let update = await updates.next(); update !== undefined; update = await updates.next()) {
          if ("failure" in update) throw update.failure;
          const { found } = update;
          if (found?.view.install.orgUuid !== orgUuid) throw marketplaceErrors.installNotFound();
          yield* statesSince(last, found.view);
          yield found.view;
          last = found.view;
          if (found.view.install.status === "deprovisioned") return;
        }
      } finally {
        updates.end();
      }
    },
  };
}
