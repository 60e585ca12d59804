import { DOMAINS } from "../domains/order.ts";
import { usesFormerKey } from "../domains/vault/index.ts";
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
import { systemRandom } from "../platform/random.ts";
import { StartError } from "../platform/start-error.ts";
import { SEALED_LISTENER_KEYS } from "../platform/x509/listener-certificate.ts";
import { assertReachable } from "./reachable.ts";

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
  /** Whether the database is the embedded one of development. */
  isEmbedded?: boolean;
  instance: { present: Buffer; previous: Buffer | undefined };
  master: { present: Buffer | undefined; previous: Buffer | undefined };
  log: Log;
  say(line: string): void;
}

const SEAL_FIRST =
  "The vault is unsealed with a master key that operators entered, which is not the present one. Seal it with " +
  "npm start -- vault seal, run rewrap again, and unseal the vault with the present key.";
/** Time between two lines about one column. */
const PROGRESS_MS = 2_000;

/**
 * Moves everything that a previous key sealed to the present keys.
 * @returns the exit code: 0 when nothing is left, else 1
 * @throws {StartError} when no previous key is set, the database cannot be used, or the vault is unsealed with another
 *   master key than the present one
 */
export async function rewrap(options: RewrapOptions): Promise<number> {
  const { databaseUrl, isEmbedded = false, instance, master, log, say } = options;
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
  const sealer = createSealer(instance.present, systemRandom, instance.previous);
  const isUnsealedOtherwise = async (): Promise<boolean> => {
    const { present, previous } = master;
    if (present === undefined || previous === undefined) return false;
    return database.background.transaction((tx) => usesFormerKey(tx, sealer, present));
  };
  try {
    await assertReachable(database, databaseUrl, isEmbedded);
    if (await isUnsealedOtherwise()) throw new StartError(SEAL_FIRST);
    const { isComplete, unreadable } = await rewrapAll({
      database: database.background,
      columns: SEALED_COLUMNS,
      keys,
      onBatch: (column, so) => performance.now() - told >= PROGRESS_MS && tell(column, so),
      onColumn: (column, total) => total.moved + total.unreadable > 0 && tell(column, total),
    });
    // Operators may have entered the previous key meanwhile.
    const isLeft = isComplete && (await isUnsealedOtherwise());
    say(isLeft ? `Not done: ${SEAL_FIRST}` : summary(isComplete, unreadable));
    return isComplete && !isLeft ? 0 : 1;
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
