import { callerOrg } from "../../platform/caller.ts";
import type { Caller } from "../../platform/caller.ts";
import type { Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import { organizationErrors } from "../organizations/index.ts";
import type { OrganizationRow, Organizations } from "../organizations/index.ts";
import { hasSameRole } from "./member-rules.ts";
import { memberIn } from "./member-store.ts";

/**
 * Locks the caller's organization until the transaction ends, so that its members are changed one at a time.
 * @throws {not_found} when the organization has ended
 * @throws {unauthorized} when the caller was removed or given another role while waiting for the lock
 */
export async function lockOwnOrganization(
  tx: Tx,
  organizations: Pick<Organizations, "lock">,
  caller: Caller,
): Promise<OrganizationRow> {
  const uuid = callerOrg(caller);
  const org = await organizations.lock(tx, uuid);
  if (org === undefined) throw organizationErrors.notFound();
  const self = caller.userUuid === null ? undefined : await memberIn(tx, uuid, caller.userUuid);
  if (!hasSameRole(caller, self)) throw errors.unauthorized();
  return org;
}
