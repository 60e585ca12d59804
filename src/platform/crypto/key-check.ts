import type { Clock } from "../clock.ts";
import { dateOf } from "../clock.ts";
import type { Database, Tx } from "../db/types.ts";
import { StartError } from "../start-error.ts";
import type { Sealer } from "./sealed.ts";
import { sealedColumn } from "./sealed-column.ts";

const KEY = "instance";
const CONTEXT = "key-check:instance";

/** The check as {@link checkInstanceKey} stores it. */
export const KEY_CHECK = sealedColumn({
  table: "key_checks",
  column: "box",
  key: { key: "text" },
  context: () => CONTEXT,
  isKeyCheck: true,
});

/** Dependencies of {@link checkInstanceKey}. */
export interface KeyCheckDeps {
  database: Pick<Database, "transaction">;
  clock: Clock;
  sealer: Sealer;
  /** Whether the sealer opens the stored secrets; true when there are none. */
  opensStored(tx: Tx): Promise<boolean>;
}

/**
 * Compares the instance key with the one the database was first used with. The first start stores a box sealed with its
 * key; of several concurrent first starts the primary key lets one store it, and the others are checked against it.
 * @throws {StartError} when the keys differ: the service would start and fail at every secret
 */
export async function checkInstanceKey({ database, clock, sealer, opensStored }: KeyCheckDeps): Promise<void> {
  const isRight = await database.transaction(async (tx) => {
    const stored = await boxIn(tx);
    if (stored !== undefined) return opens(sealer, stored);
    // A database older than this check has secrets, but no box.
    if (!(await opensStored(tx))) return false;
    const fresh = sealer.seal(KEY, CONTEXT);
    const insert = "insert into key_checks (key, box, created_at) values ($1, $2, $3) on conflict do nothing";
    await tx.query(insert, [KEY, fresh, dateOf(clock)]);
    return opens(sealer, (await boxIn(tx)) ?? fresh);
  });
  if (isRight) return;
  throw new StartError(
    "SERVICE_INSTANCE_KEY is not the key that the secrets in this database are sealed with. " +
      "Set the key of the first start, or of the last complete rotation; during a rotation, set the previous key as " +
      "SERVICE_INSTANCE_KEY_PREVIOUS too. Development keeps its key in secrets/instance-key of its data folder.",
  );
}

async function boxIn(tx: Tx): Promise<Buffer | undefined> {
  const rows = await tx.query<{ box: Buffer }>("select box from key_checks where key = $1", [KEY]);
  return rows[0]?.box;
}

function opens(sealer: Sealer, box: Buffer): boolean {
  try {
    return sealer.open(box, CONTEXT).toString("utf8") === KEY;
  } catch {
    return false;
  }
}
