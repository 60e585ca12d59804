import { DOMAINS } from "../domains/order.ts";
import { migrations } from "../migrations/index.ts";
import { systemClock } from "../platform/clock.ts";
import { KEY_CHECK } from "../platform/crypto/key-check.ts";
import { rewrapAll } from "../platform/crypto/rewrap.ts";
import type { KeyChange, Rewrapped } from "../platform/crypto/rewrap.ts";
import { createSealer } from "../platform/crypto/sealed.ts";
import type { SealedColumn } from "../platform/crypto/sealed-column.ts";
import { openDatabase } from "../platform/db/index.ts";
import { SEALED_ANSWERS } from "../platform/idempotency.ts";
import type { Log } from "../platform/log.ts";
import { SEALED_MAILS } from "../platform/outgoing/mail-outbox.ts";
import { StartError } from "../platform/start-error.ts";
import { SEALED_LISTENER_KEYS } from "../platform/x509/listener-certificate.ts";

/** Every sealed column of the database. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  KEY_CHECK,
  SEALED_ANSWERS,
  SEALED_MAILS,
  SEALED_LISTENER_KEYS,
  ...DOMAINS.definitions.flatMap(({ sealed }) => sealed),
];

/** Keys before and after a change; without `previous`, a key has not changed. */
export interface RewrapOptions {
  databaseUrl: string;
  instance: { present: Buffer; previous: Buffer | undefined };
  master: { present: Buffer | undefined; previous: Buffer | undefined };
  log: Log;
  say(line: string): void;
}

/** Time between two lines about one column. */
const PROGRESS_MS = 2_000;

/**
 * Moves everything that a previous key sealed to the present keys.
 * @returns the exit code: 0 when nothing is left, else 1
 * @throws {StartError} when no previous key is set
 */
export async function rewrap({ databaseUrl, instance, master, log, say }: RewrapOptions): Promise<number> {
  const keys = { instance: changeOf(instance), master: changeOf(master) };
  if (keys.instance === undefined && keys.master === undefined)
    throw new StartError("Set SERVICE_INSTANCE_KEY_PREVIOUS or SERVICE_MASTER_KEY_PREVIOUS to the key used before.");
  const database = await openDatabase({ url: databaseUrl, entities: [], migrations, clock: systemClock, log });
  let told = performance.now();
  const tell = ({ table, column }: SealedColumn, { read, moved, unreadable }: Rewrapped): void => {
    told = performance.now();
    const failed = unreadable === 0 ? "" : `, ${unreadable} that neither key opens`;
    say(`${table}.${column}: ${read} read, ${moved} moved${failed}`);
  };
  try {
    const { isComplete, unreadable } = await rewrapAll({
      database: database.background,
      columns: SEALED_COLUMNS,
      keys,
      onBatch: (column, so) => performance.now() - told >= PROGRESS_MS && tell(column, so),
      onColumn: (column, total) => total.moved + total.unreadable > 0 && tell(column, total),
    });
    say(summary(isComplete, unreadable));
    return isComplete ? 0 : 1;
  } finally {
    await database.close();
  }
}

function changeOf({ present, previous }: { present: Buffer | undefined; previous: Buffer | undefined }) {
  if (previous === undefined) return undefined;
  if (present === undefined) throw new StartError("Set SERVICE_MASTER_KEY to the present key of the vault.");
  if (present.equals(previous)) throw new StartError("The previous key is the present key; nothing is to be moved.");
  return { present: createSealer(present), previous: createSealer(previous) } satisfies KeyChange;
}

function summary(isComplete: boolean, unreadable: number): string {
  if (isComplete)
    return "Done: everything is sealed with the present keys. Remove the previous ones from the settings.";
  if (unreadable > 0)
    return `Not done: neither key opens ${unreadable} values. Run it again with the key that they were sealed with.`;
  return "Not done: instances still seal with a previous key. Give all of them the present keys, and run it again.";
}
