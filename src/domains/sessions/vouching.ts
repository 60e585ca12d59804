import { amrOf } from "../../platform/caller.ts";
import type { Caller } from "../../platform/caller.ts";
import type { Tx } from "../../platform/db/types.ts";
import { certain } from "../../platform/narrow.ts";
import { sessionErrors } from "./errors.ts";
import { identityOf } from "./provider-store.ts";

/** A session, and how it was opened (RFC 8176). */
interface Session {
  uuid: string;
  amr: readonly string[];
}

/** The session of a person's token. */
export const sessionOf = (caller: Caller): Session => ({
  uuid: certain(caller.sessionId, "session of a person"),
  amr: amrOf(caller),
});

/**
 * Returns the organization whose provider opened a session, null where that is not known; undefined where no provider
 * did, and where the person has linked the identity themselves. Anybody can found an organization, and have its
 * provider name an address, so that its link proves nothing to others.
 */
async function limitingOrgOf(tx: Tx, { uuid, amr }: Session): Promise<string | null | undefined> {
  if (!amr.includes("fed")) return undefined;
  const { orgUuid, byPerson } = await identityOf(tx, uuid);
  return byPerson ? undefined : orgUuid;
}

/**
 * Returns the only organization in which the provider that opened a caller's session vouches for them; undefined where
 * nothing limits it. Where the provider's is not known, it is the organization of the session.
 */
export async function vouchedOrg(tx: Tx, caller: Caller): Promise<string | null | undefined> {
  const orgUuid = await limitingOrgOf(tx, sessionOf(caller));
  return orgUuid === null ? caller.orgUuid : orgUuid;
}

/** The organization whose provider opened a session, also where the person has linked the identity themselves. */
export const providerOrgOf = async (tx: Tx, { uuid, amr }: Session): Promise<string | null> =>
  amr.includes("fed") ? (await identityOf(tx, uuid)).orgUuid : null;

/**
 * Demands that the provider that opened a session vouches for its person in an organization.
 * @throws {link_required} for another organization than its own, unless the person has linked the identity themselves
 */
export async function demandVouching(tx: Tx, session: Session, orgUuid: string | null): Promise<void> {
  const provider = await limitingOrgOf(tx, session);
  if (provider !== undefined && (orgUuid === null || provider !== orgUuid)) throw sessionErrors.linkRequired();
}
