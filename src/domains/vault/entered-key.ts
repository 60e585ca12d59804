import { timingSafeEqual } from "node:crypto";
import type { Sealer } from "../../platform/crypto/sealed.ts";
import type { Tx } from "../../platform/db/types.ts";
import { sharedContext } from "./master-keys.ts";
import { sealIn } from "./seal-store.ts";

/**
 * Whether the vault is unsealed with a master key that operators entered and that is not the present one. Instances
 * without a key in their settings use it: they could not open what `rewrap` moves, and go on sealing with it.
 * @param sealer of the instance key
 */
export async function usesFormerKey(tx: Pick<Tx, "query">, sealer: Sealer, present: Buffer): Promise<boolean> {
  const { sealed, epoch, sharedKey } = await sealIn(tx);
  if (sealed || sharedKey === null) return false;
  let entered: Buffer;
  try {
    entered = sealer.open(sharedKey, sharedContext(epoch));
  } catch {
    return true;
  }
  try {
    return !timingSafeEqual(entered, present);
  } finally {
    entered.fill(0);
  }
}
