import { pagingBy } from "../../../platform/cursors.ts";
import type { Cursors } from "../../../platform/cursors.ts";
import { pageOf } from "../../../platform/db/paging.ts";
import type { Total } from "../../../platform/db/total.ts";
import type { CallerContext } from "../../../platform/context.ts";
import type { Database } from "../../../platform/db/types.ts";
import { canonicalAddress } from "../../../platform/outgoing/address.ts";
import { auditErrors } from "../errors.ts";
import { isAuditEventType, isAuthEventType } from "../../event-catalogue/index.ts";
import type { AuditRecord } from "../../audit-record/index.ts";
import type { Organizations } from "../../organizations/index.ts";
import type { People } from "../../people/index.ts";
import { requestedScope, mayRead, parseRange } from "../rules.ts";
import { countEvents } from "./count-store.ts";
import { searchEvents } from "./search.ts";
import { findEvent, pageOfEvents } from "./store.ts";
import type { FoundEvents } from "./store.ts";

/** Filters and page of a list; empty strings count as absent. */
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
  /** In any notation. */
  ipAddress?: string | undefined;
  eventId?: string | undefined;
  /** Id or email. */
  actor?: string | undefined;
  q?: string | undefined;
  /** `created_at` or `-created_at`, which is the default. */
  sort?: string | undefined;
  /** Empty to start; `offset` is ignored beside it. */
  cursor?: string | undefined;
}

/** One page of a list. */
export interface EventPage extends FoundEvents, Total {
  limit: number;
  offset: number;
}

/** Dependencies of reading the log. */
export interface ReadEventsDeps {
  database: Pick<Database, "prepared">;
  cursors: Cursors;
  organizations: Pick<Organizations, "existsEver">;
  people: Pick<People, "isKnown">;
}

/**
 * Reading of the audit log.
 * @throws {not_found} when the organization, person or event is unknown or may not be read
 * @throws {invalid_type} when the list's log has no such event type
 * @throws {invalid_date_range} when `from` or `to` is no ISO 8601 time, or `from` is after `to`
 */
export function createReadEvents(deps: ReadEventsDeps) {
  async function list({ caller, signal }: CallerContext, query: EventQuery, authOnly: boolean): Promise<EventPage> {
    const type = given(query.type);
    if (type !== undefined && !(authOnly ? isAuthEventType(type) : isAuditEventType(type)))
      throw auditErrors.invalidType();
    const range = parseRange(given(query.from), given(query.to));
    const scope = requestedScope(caller, given(query.orgUuid));
    const userUuid = given(query.userUuid)?.toLowerCase();
    const requested = given(query.orgUuid)?.toLowerCase();
    if (requested !== undefined && requested !== caller.orgUuid && !(await deps.organizations.existsEver(requested)))
      throw auditErrors.notFound();
    if (
      userUuid !== undefined &&
      !(await deps.people.isKnown(userUuid, scope.length === 1 ? (scope[0] ?? null) : null))
    ) {
      throw auditErrors.notFound();
    }
    const outcome = given(query.outcome);
    const searched = {
      ipAddress: addressOf(given(query.ipAddress)),
      eventId: given(query.eventId)?.toLowerCase(),
      actor: given(query.actor),
      q: given(query.q),
    };
    const filter = { scope, authOnly, userUuid, type, outcome, ...searched, ...range };
    const { limit, offset, ...order } = pageOf(query);
    const paging = pagingBy(deps.cursors, ["events", filter], order);
    const window = { limit, offset, ascending: order.sort === "created_at", paging };
    const isSearched = Object.values(searched).some((one) => one !== undefined);
    if (isSearched)
      return { ...(await searchEvents({ database: deps.database, signal }, filter, window)), limit, offset };
    const [found, total] = await Promise.all([
      pageOfEvents(deps.database, filter, window),
      countEvents(deps.database, filter),
    ]);
    return { ...found, total, limit, offset };
  }

  return {
    /** Authentication events that the caller may read, newest first. */
    authEvents: (context: CallerContext, query: EventQuery) => list(context, query, true),

    /** The complete log of one organization: authentication and administrative events, newest first. */
    auditEvents: (context: CallerContext, query: EventQuery & { orgUuid: string }) => list(context, query, false),

    /** One authentication event by its id. */
    async authEvent({ caller }: CallerContext, eventId: string): Promise<AuditRecord> {
      const event = await findEvent(deps.database, eventId, true);
      if (event === undefined || !mayRead(caller, event.orgUuid)) throw auditErrors.notFound();
      return event;
    },
  };
}

/** An address in the form in which events have theirs. */
function addressOf(text: string | undefined): string | undefined {
  return text === undefined ? undefined : (canonicalAddress(text) ?? text);
}

function given(value: string | undefined): string | undefined {
  return value === "" ? undefined : value;
}
