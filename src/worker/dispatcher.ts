import { MOST_EXPIRED } from "../platform/db/index.ts";
import type { ExpiredRow, Outbox, OutboxRow } from "../platform/db/index.ts";
import type { Log } from "../platform/log.ts";
import { handleTraced, withoutTrace } from "../platform/tracing.ts";

/** What happens with the messages of one topic. Handlers are idempotent: a crash repeats them. */
export interface TopicHandler {
  /** Rejects when a later try makes sense. */
  handle(payload: Record<string, unknown>, row: OutboxRow): Promise<void>;
  /** Waits before the tries after a failure, milliseconds; the last repeats. */
  retry: readonly number[];
  /** Messages handled at once. */
  concurrency: number;
  /**
   * Messages of which handling one does for all that were there by then, by what this answers. Default: each is
   * handled.
   */
  same?: (payload: Record<string, unknown>) => string;
}

/** Settings of {@link createDispatcher}. */
export interface DispatcherOptions {
  outbox: Outbox;
  /** By topic. A topic nobody handles stays in the outbox. */
  topics: Readonly<Record<string, TopicHandler>>;
  log: Log;
  /** Wait between looks when nobody nudges; default 1,000 ms. */
  pollMs?: number;
}

/** Takes messages out of the outbox and hands them to their topics. */
export interface Dispatcher {
  start(): void;
  /** Something was committed: look now. */
  nudge(): void;
  /** Messages in hand now, by topic. */
  running(): Record<string, number>;
  /** Takes nothing more and resolves when what is in hand is done or `graceMs` are over. */
  stop(graceMs: number): Promise<void>;
}

/** How long a taken row stays hidden; a handler that takes longer has its row extended. */
const LEASE_MS = 30_000;
/**
 * Wait before the next look, milliseconds, where nothing but failures comes back: they must not take what others need.
 */
const PAUSE_MS = 50;
/** Rows taken at once where one may do for many. */
const SAME_AT_ONCE = 1_000;

/** One topic: its own slots, so that a slow receiver of one kind holds up no other kind. */
class Lane {
  readonly #running = new Map<string, { ids: readonly string[]; work: Promise<void> }>();
  /** Taken and not begun: what waits for a slot, where one may do for many. */
  #waiting: (readonly [OutboxRow, ...OutboxRow[]])[] = [];
  #again = false;
  #looking: Promise<void> | undefined;
  #stopped = false;
  /** Failures since the last success. */
  #failures = 0;
  #pause: NodeJS.Timeout | undefined;
  readonly #topic: string;
  readonly #handler: TopicHandler;
  readonly #options: DispatcherOptions;

  constructor(topic: string, handler: TopicHandler, options: DispatcherOptions) {
    this.#topic = topic;
    this.#handler = handler;
    this.#options = options;
  }

  /** Looks for due rows; a look asked for while one is under way happens after it. */
  look(): void {
    if (this.#stopped || this.#pause !== undefined) return;
    this.#again = true;
    this.#looking ??= this.#lookWhileAsked().finally(() => {
      this.#looking = undefined;
    });
  }

  async #lookWhileAsked(): Promise<void> {
    const { outbox, log } = this.#options;
    while (this.#again && !this.#stopped) {
      this.#again = false;
      const free = this.#handler.concurrency - this.#running.size;
      if (free <= 0 || this.#beginWaiting(free)) return;
      try {
        const most = this.#handler.same === undefined ? free : SAME_AT_ONCE;
        const rows = await outbox.claimDue(most, LEASE_MS, this.#topic);
        this.#waiting = this.#group(rows);
        this.#beginWaiting(free);
        if (rows.length === most) this.#again = true;
      } catch (error) {
        log.debug({ err: error, topic: this.#topic }, "the outbox could not be read; tried again at the next poll");
      }
    }
  }

  /** Rows that are handled together; all of them were committed before the first is handled. */
  #group(rows: readonly OutboxRow[]): [OutboxRow, ...OutboxRow[]][] {
    const { same } = this.#handler;
    const groups = new Map<string, [OutboxRow, ...OutboxRow[]]>();
    for (const row of rows) {
      const key = same?.(row.payload) ?? row.id;
      const group = groups.get(key);
      if (group === undefined) groups.set(key, [row]);
      else group.push(row);
    }
    return [...groups.values()];
  }

  /** Begins up to `free` of what waits; answers whether anything did. */
  #beginWaiting(free: number): boolean {
    const begun = this.#waiting.splice(0, free);
    begun.forEach((rows) => this.#begin(rows));
    return begun.length > 0;
  }

  #begin(rows: readonly [OutboxRow, ...OutboxRow[]]): void {
    const [{ id }] = rows;
    const work = this.#work(rows).finally(() => {
      this.#running.delete(id);
      if (this.#failures < this.#handler.concurrency) this.look();
      else this.#rest();
    });
    this.#running.set(id, { ids: rows.map((row) => row.id), work });
  }

  #rest(): void {
    this.#pause ??= setTimeout(() => {
      this.#pause = undefined;
      this.look();
    }, PAUSE_MS);
  }

  async #work(rows: readonly [OutboxRow, ...OutboxRow[]]): Promise<void> {
    const { outbox, log } = this.#options;
    const [row] = rows;
    const ids = rows.map(({ id }) => id);
    try {
      await handleTraced(`outbox ${this.#topic}`, row.traceparent, () => this.#handler.handle(row.payload, row));
      await outbox.complete(ids);
      this.#failures = 0;
    } catch (error) {
      this.#failures++;
      const { retry } = this.#handler;
      const wait = retry[Math.min(row.attempts, retry.length) - 1] ?? 1_000;
      log.debug(
        { err: error, topic: this.#topic, id: row.id, attempts: row.attempts },
        "a message could not be handled and is tried again",
      );
      const message = error instanceof Error ? error.message : String(error);
      await outbox.fail(ids, message, wait).catch((failure: unknown) => {
        log.debug({ err: failure, id: row.id }, "the row stays hidden until its lease is over");
      });
    }
  }

  get topic(): string {
    return this.#topic;
  }

  /** Messages in hand. */
  get running(): number {
    return this.#running.size;
  }

  async extend(): Promise<void> {
    const ids = [
      ...[...this.#running.values()].flatMap((one) => one.ids),
      ...this.#waiting.flatMap((rows) => rows.map(({ id }) => id)),
    ];
    if (ids.length > 0) await this.#options.outbox.extend(ids, LEASE_MS);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#pause);
    await this.#looking;
    await Promise.all([...this.#running.values()].map(({ work }) => work));
  }
}

/** Reads the outbox topic by topic: at every nudge, and every `pollMs` as the safety net. */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { outbox, log, pollMs = 1_000 } = options;
  const lanes = Object.entries(options.topics).map(([topic, handler]) => new Lane(topic, handler, options));
  const timers: NodeJS.Timeout[] = [];
  let stopped = false;
  const nudge = () => withoutTrace(() => lanes.forEach((lane) => lane.look()));

  /** One line for each topic, however many messages that were. */
  function complain(dropped: readonly ExpiredRow[]): void {
    for (const [topic, rows] of Map.groupBy(dropped, (row) => row.topic)) {
      const { id, attempts, lastError } = rows[0] ?? {};
      log.warn({ topic, count: rows.length, id, attempts, lastError }, "messages were given up: their time was over");
    }
  }

  async function tidy(): Promise<void> {
    try {
      for (const lane of lanes) await lane.extend();
      for (let dropped: ExpiredRow[] = [], first = true; first || dropped.length === MOST_EXPIRED; first = false) {
        if (stopped) return;
        dropped = await outbox.dropExpired();
        complain(dropped);
      }
    } catch (error) {
      log.debug({ err: error }, "the outbox could not be tidied");
    }
  }

  return {
    start() {
      timers.push(
        setInterval(nudge, pollMs),
        setInterval(() => void tidy(), LEASE_MS / 3),
      );
      nudge();
    },
    nudge,
    running: () => Object.fromEntries(lanes.map((lane) => [lane.topic, lane.running])),
    async stop(graceMs) {
      stopped = true;
      timers.forEach(clearInterval);
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, graceMs);
      });
      await Promise.race([Promise.all(lanes.map((lane) => lane.stop())), late]);
      clearTimeout(timer);
    },
  };
}
