import type { Tx } from "../../platform/db/types.ts";
import { sessionErrors } from "./errors.ts";
import { identityOf } from "./store.ts";

/**
 * Demands that the provider that opened a session vouches for its person in an organization: in its own alone, since
 * anybody can found one, and have its provider name an address, so that its link proves nothing to others.
 * @throws {link_required} for another organization, unless the person has linked the identity themselves
 */
export async function demandVouching(
  tx: Tx,
  session: { uuid: string; amr: readonly string[] },
  orgUuid: string | null,
): Promise<void> {
  if (!session.amr.includes("fed")) return;
  const identity = await identityOf(tx, session.uuid);
  if (identity?.byPerson !== true && (orgUuid === null || identity?.orgUuid !== orgUuid))
    throw sessionErrors.linkRequired();
}
