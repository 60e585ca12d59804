import type { Tx } from "../../platform/db/types.ts";
import { sessionErrors } from "./errors.ts";
import { identityOf } from "./store.ts";

/** A session, and how it was opened (RFC 8176). */
interface Session {
  uuid: string;
  amr: readonly string[];
}

/** A provider that vouches for a person in its own organization alone. */
export interface VouchingProvider {
  /** Null where the identity is linked no more. */
  orgUuid: string | null;
}

/**
 * Returns the provider that opened a session; undefined where none did, and where the person has linked the identity
 * themselves. Anybody can found an organization, and have its provider name an address, so that its link proves nothing
 * to others.
 */
export async function providerOf(tx: Tx, { uuid, amr }: Session): Promise<VouchingProvider | undefined> {
  if (!amr.includes("fed")) return undefined;
  const identity = await identityOf(tx, uuid);
  return identity?.byPerson === true ? undefined : { orgUuid: identity?.orgUuid ?? null };
}

/**
 * Demands that the provider that opened a session vouches for its person in an organization.
 * @throws {link_required} for another organization than its own, unless the person has linked the identity themselves
 */
export async function demandVouching(tx: Tx, session: Session, orgUuid: string | null): Promise<void> {
  const provider = await providerOf(tx, session);
  if (provider !== undefined && (orgUuid === null || provider.orgUuid !== orgUuid)) throw sessionErrors.linkRequired();
}
