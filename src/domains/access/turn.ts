import { callerOrg } from "../../platform/caller.ts";
import type { Caller } from "../../platform/caller.ts";
import type { Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import { organizationErrors } from "../organizations/index.ts";
import type { OrganizationRow, Organizations } from "../organizations/index.ts";
import { stillActs } from "./member-rules.ts";
import { memberIn } from "./member-store.ts";

/**
 * The caller's turn to change their organization, which is locked until the transaction ends: one change at a time.
 * Throws 404 `not_found`, and 401 `unauthorized` for a caller who was removed or given another role while waiting.
 */
export async function takeTurn(
  tx: Tx,
  organizations: Pick<Organizations, "lock">,
  caller: Caller,
): Promise<OrganizationRow> {
  const uuid = callerOrg(caller);
  const org = await organizations.lock(tx, uuid);
  if (org === undefined) throw organizationErrors.notFound();
  const self = caller.userUuid === null ? undefined : await memberIn(tx, uuid, caller.userUuid);
  if (!stillActs(caller, self)) throw errors.unauthorized();
  return org;
}
