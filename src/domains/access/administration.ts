import type { Announce } from "../../platform/announce.ts";
import type { Caller, RequestInfo } from "../../platform/caller.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import type { Audit } from "../auth-events/index.ts";
import type { Organizations } from "../organizations/index.ts";
import type { People } from "../people/index.ts";
import type { Access } from "./access.ts";
import { createMembers } from "./members.ts";
import { createOrganizations } from "./organizations.ts";
import { createRoles } from "./roles.ts";

/** Whose doing it is that sessions end, and why in one word. */
interface EndedBy {
  caller: Caller;
  info: RequestInfo;
  reason: string;
}

/** What administration is made of. */
export interface AdministrationDeps {
  database: Database;
  clock: Clock;
  audit: Pick<Audit, "record">;
  /** Tells the webhooks of an organization. */
  announce: Announce<
    "user.updated" | "user.deactivated" | "user.deleted" | "organization.deleted" | "role.assigned" | "role.updated"
  >;
  organizations: Pick<Organizations, "lock" | "change" | "remove" | "planExists">;
  people: Pick<People, "lock">;
  access: Pick<Access, "role" | "demandGrantable" | "entitled">;
  /** The end of sessions and credentials, which stand below; in the caller's transaction. */
  ending: {
    ofMember(tx: Tx, orgUuid: string, userUuid: string, by: EndedBy): Promise<void>;
    ofOrganization(tx: Tx, orgUuid: string, by: EndedBy): Promise<void>;
  };
  /** What domains below do when a member is removed or made inactive, in the transaction of that and before it. */
  whenEnded: readonly ((
    tx: Tx,
    orgUuid: string,
    userUuid: string,
    status: "inactive" | "removed",
    by: EndedBy,
  ) => Promise<void>)[];
  /** What domains below do when an organization ends, in the transaction of that. */
  whenDeleted: readonly ((tx: Tx, orgUuid: string, caller: Caller, info: RequestInfo) => Promise<void>)[];
}

/** Members, roles and organizations as administrators change them. */
export function createAdministration(deps: AdministrationDeps) {
  return { members: createMembers(deps), roles: createRoles(deps), organizations: createOrganizations(deps) };
}

/** Administration as the server sees it. */
export type Administration = ReturnType<typeof createAdministration>;
