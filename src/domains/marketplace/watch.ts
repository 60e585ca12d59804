import { callerOrg } from "../../platform/caller.ts";
import type { Caller } from "../../platform/caller.ts";
import type { Database } from "../../platform/db/types.ts";
import { marketplaceErrors } from "./errors.ts";
import type { InstallView } from "./installs.ts";
import { newestLines, watchedInstalls } from "./watch-store.ts";
import type { WatchedInstall } from "./watch-store.ts";

/** How often watched installs are looked at, all of them with one query. */
const LOOK_MS = 250;
/** Installs that one statement reads. */
const READ_AT_ONCE = 100;
/** Watchers that are told before others have their turn on the event loop. */
const TOLD_AT_ONCE = 25;

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** What a watcher hears: the install as it is now, that there is none, or that it cannot be read. */
type News = { found: WatchedInstall | undefined } | { failure: unknown };

interface Watched {
  version: string | undefined;
  /** Watchers that have heard nothing yet. */
  fresh: Set<Watcher>;
  told: Set<Watcher>;
}

interface Watcher {
  tell(news: News): void;
}

/**
 * Tells watchers of installs what has changed, whichever instance wrote it. Each change is read once, however many
 * watch the install, on connections of their own, and told to some of them at a time.
 */
export function createWatch(database: Pick<Database, "watching" | "read">) {
  const watched = new Map<string, Watched>();
  const wanted = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let reading = false;

  async function tell(watchers: readonly Watcher[], news: News): Promise<void> {
    for (let from = 0; from < watchers.length; from += TOLD_AT_ONCE) {
      for (const watcher of watchers.slice(from, from + TOLD_AT_ONCE)) watcher.tell(news);
      await turn();
    }
  }

  /** Reads some installs: whoever is new hears of each, the others of a change. */
  async function read(installIds: readonly string[]): Promise<void> {
    const asking = new Map(installIds.map((id) => [id, [...(watched.get(id)?.fresh ?? [])]]));
    let rows: ReadonlyMap<string, WatchedInstall>;
    try {
      rows = await watchedInstalls(database, installIds);
    } catch (failure) {
      // The database is away: who is new is refused, the others wait and hear of it when it is back.
      for (const fresh of asking.values()) await tell(fresh, { failure });
      return;
    }
    for (const [id, fresh] of asking) {
      const entry = watched.get(id);
      if (entry === undefined) continue;
      const found = rows.get(id);
      const changed = found?.version !== entry.version;
      const hearing = [...(changed ? entry.told : []), ...fresh];
      entry.version = found?.version;
      for (const watcher of fresh) if (entry.fresh.delete(watcher)) entry.told.add(watcher);
      await tell(hearing, { found });
    }
  }

  /** Reads what is wanted, in batches; what is wanted meanwhile is read after that. */
  async function readWanted(): Promise<void> {
    if (reading) return;
    reading = true;
    await turn();
    while (wanted.size > 0) {
      const ids = [...wanted].slice(0, READ_AT_ONCE);
      for (const id of ids) wanted.delete(id);
      await read(ids);
    }
    reading = false;
  }

  async function look(): Promise<void> {
    try {
      for (const { install_id: id, newest } of await newestLines(database, [...watched.keys()])) {
        const entry = watched.get(id);
        if (entry?.version !== undefined && entry.version !== newest) wanted.add(id);
      }
      await readWanted();
    } catch {
      // The database is away: watchers wait, and hear of changes when it is back.
    }
    timer = watched.size === 0 ? undefined : setTimeout(() => void look(), LOOK_MS);
  }

  /** News of an install, as it comes, from its present state on; ends with the signal. */
  function subscribe(installId: string, signal: AbortSignal): { next(): Promise<News | undefined>; end(): void } {
    const entry = watched.get(installId) ?? { version: undefined, fresh: new Set<Watcher>(), told: new Set<Watcher>() };
    watched.set(installId, entry);
    let latest: News | undefined;
    let wake: (() => void) | undefined;
    const watcher: Watcher = {
      // Who is slow misses what was overtaken, and hears of the present.
      tell(news) {
        latest = news;
        wake?.();
      },
    };
    entry.fresh.add(watcher);
    wanted.add(installId);
    void readWanted();
    timer ??= setTimeout(() => void look(), LOOK_MS);
    const aborted = (): void => wake?.();
    signal.addEventListener("abort", aborted, { once: true });
    return {
      async next() {
        if (latest === undefined && !signal.aborted) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
        const news = latest;
        latest = undefined;
        return news;
      },
      end() {
        signal.removeEventListener("abort", aborted);
        entry.fresh.delete(watcher);
        entry.told.delete(watcher);
        if (entry.fresh.size + entry.told.size === 0 && watched.get(installId) === entry) watched.delete(installId);
      },
    };
  }

  return {
    /**
     * The present record first, then one after each change, ending at `deprovisioned`. Reading is judged anew each
     * time, so whoever loses sight of the install loses the stream. Error: 404 install_not_found.
     */
    async *watch(caller: Caller, installId: string, signal: AbortSignal): AsyncIterable<InstallView> {
      const orgUuid = callerOrg(caller);
      const news = subscribe(installId.toLowerCase(), signal);
      try {
        for (let heard = await news.next(); heard !== undefined; heard = await news.next()) {
          if ("failure" in heard) throw heard.failure;
          const { found } = heard;
          if (found?.view.install.orgUuid !== orgUuid) throw marketplaceErrors.installNotFound();
          yield found.view;
          if (found.view.install.status === "deprovisioned") return;
        }
      } finally {
        news.end();
      }
    },
  };
}
