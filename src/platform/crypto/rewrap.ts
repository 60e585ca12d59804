import type { Database } from "../db/types.ts";
import type { SealedColumn } from "./sealed-column.ts";
import type { Sealer } from "./sealed.ts";
import { lockFree, pageOfBoxes, replaceBoxes } from "./rewrap-store.ts";
import type { BoxRow } from "./rewrap-store.ts";

/** The present and the previous key of one kind, each as a sealer that opens nothing else. */
export interface KeyChange {
  present: Sealer;
  previous: Sealer;
}

/** What became of the values of a column. */
export interface Rewrapped {
  read: number;
  moved: number;
  /** Values that neither key opens. They stay as they are. */
  unreadable: number;
}

/** Dependencies of {@link rewrapAll}. */
export interface RewrapDeps {
  database: Pick<Database, "transaction">;
  columns: readonly SealedColumn[];
  /** Columns of a kind without keys are left out. */
  keys: Readonly<Record<SealedColumn["by"], KeyChange | undefined>>;
  /** Called after each batch. */
  onBatch(column: SealedColumn, so: Rewrapped): unknown;
  /** Called after each column. */
  onColumn(column: SealedColumn, total: Rewrapped): unknown;
}

/** Rows read by one transaction. */
const BATCH = 500;
/** Instances that still have the previous key as theirs seal with it meanwhile: a pass that moves nothing ends it. */
const MAX_PASSES = 5;

/**
 * Moves every value that a previous key sealed to the present key, while the service runs. Nothing but the values says
 * what is left, so a run that was killed at any point is continued by another one; a value that changes meanwhile is
 * not overwritten. Key checks move last, when a pass over everything else has found nothing to move.
 * @returns whether nothing sealed with a previous key is left, and the number of values that neither key opens
 */
export async function rewrapAll(deps: RewrapDeps): Promise<{ isComplete: boolean; unreadable: number }> {
  const due = deps.columns.filter(({ by }) => deps.keys[by] !== undefined);
  const checks = due.filter(({ isKeyCheck }) => isKeyCheck === true);
  const values = due.filter(({ isKeyCheck }) => isKeyCheck !== true);
  for (let pass = 1; pass <= MAX_PASSES; pass++) {
    const { moved, unreadable } = await rewrapColumns(deps, values);
    if (unreadable > 0) return { isComplete: false, unreadable };
    if (moved > 0) continue;
    const ofChecks = await rewrapColumns(deps, checks);
    return { isComplete: ofChecks.unreadable === 0, unreadable: ofChecks.unreadable };
  }
  return { isComplete: false, unreadable: 0 };
}

async function rewrapColumns(deps: RewrapDeps, columns: readonly SealedColumn[]): Promise<Rewrapped> {
  const all: Rewrapped = { read: 0, moved: 0, unreadable: 0 };
  for (const column of columns) add(all, await rewrapColumn(deps, column));
  return all;
}

async function rewrapColumn({ database, keys, ...deps }: RewrapDeps, column: SealedColumn): Promise<Rewrapped> {
  const change = keys[column.by] as KeyChange;
  const total: Rewrapped = { read: 0, moved: 0, unreadable: 0 };
  for (let after: readonly unknown[] | undefined; ; ) {
    const batch = await database.transaction(async (tx) => {
      const boxes = await pageOfBoxes(tx, column, after, BATCH);
      const left = boxes.filter((one) => !opens(change.present, column, one));
      const fresh = left.flatMap((one) => reseal(change, column, one) ?? []);
      const free = fresh.length === 0 ? [] : await lockFree(tx, column, fresh);
      const moved = free.length === 0 ? 0 : await replaceBoxes(tx, column, free);
      const busy = fresh.filter((one) => !free.includes(one));
      return { last: boxes.at(-1)?.key, read: boxes.length, moved, busy, unreadable: left.length - fresh.length };
    });
    // Each alone: who waits and holds other rows may wait for a request that changes both in another order.
    for (const one of batch.busy) batch.moved += await database.transaction((tx) => replaceBoxes(tx, column, [one]));
    add(total, batch);
    deps.onBatch(column, total);
    if (batch.read < BATCH) break;
    after = batch.last;
  }
  deps.onColumn(column, total);
  return total;
}

function add(total: Rewrapped, { read, moved, unreadable }: Rewrapped): void {
  total.read += read;
  total.moved += moved;
  total.unreadable += unreadable;
}

function opens(sealer: Sealer, column: SealedColumn, { box, row }: BoxRow): boolean {
  return opened(sealer, column, { box, row }, () => true) ?? false;
}

function reseal({ present, previous }: KeyChange, column: SealedColumn, one: BoxRow) {
  return opened(previous, column, one, (plain) => ({ ...one, fresh: present.seal(plain, column.context(one.row)) }));
}

/** Uses the plain bytes of a box, and overwrites them; undefined when the sealer does not open it. */
function opened<T>(
  sealer: Sealer,
  column: SealedColumn,
  { box, row }: Pick<BoxRow, "box" | "row">,
  use: (plain: Buffer) => T,
): T | undefined {
  let plain: Buffer;
  try {
    plain = sealer.open(box, column.context(row));
  } catch {
    return undefined;
  }
  try {
    return use(plain);
  } finally {
    plain.fill(0);
  }
}
