import type { Caller } from "../../platform/caller.ts";
import type { Database } from "../../platform/db/types.ts";
import { auditErrors } from "./errors.ts";
import { isAuditEventType, isAuthEventType } from "../event-catalogue/index.ts";
import type { AuditRecord } from "../audit-record/index.ts";
import { askedScope, mayRead, parseRange } from "./rules.ts";
import { countEvents } from "./count-store.ts";
import { findEvent, pageOfEvents } from "./store.ts";

/** What is asked of a list; empty strings count as absent. */
export interface EventQuery {
  orgUuid?: string | undefined;
  userUuid?: string | undefined;
  type?: string | undefined;
  outcome?: string | undefined;
  /** ISO 8601, inclusive. */
  from?: string | undefined;
  /** ISO 8601, exclusive. */
  to?: string | undefined;
  /** Default 50. */
  limit?: number | undefined;
  offset?: number | undefined;
}

/** One page of a list. */
export interface EventPage {
  data: AuditRecord[];
  total: number;
  limit: number;
  offset: number;
}

/** What reading needs of domains the log stands below. */
export interface ReadEventsDeps {
  database: Database;
  /** Whether an organization exists or existed. */
  organizationExists(orgUuid: string): Promise<boolean>;
  /** Whether a person is or was a member of the organization; with null, exists at all. */
  personKnown(userUuid: string, orgUuid: string | null): Promise<boolean>;
}

/** Reading of the audit log. Every function throws `not_found`, `invalid_type`, `invalid_date_range` as documented. */
export function createReadEvents(deps: ReadEventsDeps) {
  async function list(caller: Caller, query: EventQuery, authOnly: boolean): Promise<EventPage> {
    const type = given(query.type);
    if (type !== undefined && !(authOnly ? isAuthEventType(type) : isAuditEventType(type)))
      throw auditErrors.invalidType();
    const range = parseRange(given(query.from), given(query.to));
    const scope = askedScope(caller, given(query.orgUuid));
    const userUuid = given(query.userUuid)?.toLowerCase();
    const asked = given(query.orgUuid)?.toLowerCase();
    if (asked !== undefined && asked !== caller.orgUuid && !(await deps.organizationExists(asked)))
      throw auditErrors.notFound();
    if (userUuid !== undefined && !(await deps.personKnown(userUuid, scope.length === 1 ? (scope[0] ?? null) : null))) {
      throw auditErrors.notFound();
    }
    const filter = { scope, authOnly, userUuid, type, outcome: given(query.outcome), ...range };
    const [limit, offset] = [query.limit ?? 50, query.offset ?? 0];
    const [data, total] = await Promise.all([
      pageOfEvents(deps.database, filter, limit, offset),
      countEvents(deps.database, filter),
    ]);
    return { data, total, limit, offset };
  }

  return {
    /** `GET /api/auth/events`: authentication events the caller may see, newest first. */
    authEvents: (caller: Caller, query: EventQuery) => list(caller, query, true),

    /** The wider log of one organization: authentication events and administrative actions. */
    auditEvents: (caller: Caller, query: EventQuery & { orgUuid: string }) => list(caller, query, false),

    /** `GET /api/auth/events/{event_id}`. Throws `not_found`, for a foreign event as for an unknown one. */
    async authEvent(caller: Caller, eventId: string): Promise<AuditRecord> {
      const event = await findEvent(deps.database, eventId, true);
      if (event === undefined || !mayRead(caller, event.orgUuid)) throw auditErrors.notFound();
      return event;
    },
  };
}

function given(value: string | undefined): string | undefined {
  return value === "" ? undefined : value;
}
