import { callerOrg } from "../../../platform/caller.ts";
import { dateOf } from "../../../platform/clock.ts";
import type { CallerContext } from "../../../platform/context.ts";
import type { Page } from "../../../platform/db/paging.ts";
import { errors } from "../../../platform/errors.ts";
import { certain } from "../../../platform/narrow.ts";
import { causedBy, EVENTS } from "../../event-catalogue/index.ts";
import type { BillingDeps } from "../deps.ts";
import { billingErrors } from "../errors.ts";
import { createPeriodTurner } from "./periods.ts";
import * as store from "./store.ts";
import type { Aggregation, MeterRow, UsageRow } from "./store.ts";

/** Maximum number of meters of an organization. */
const MAX_METERS = 1_000;
/** Oldest time of an event, and how far ahead of our clock it may be, milliseconds. */
const OLDEST_MS = Date.UTC(2000, 0, 1);
const AHEAD_MS = 86_400_000;

/** An event as a client reports it. */
export interface ReportedEvent {
  id: string;
  eventName: string;
  value: number;
  /** Now when undefined. */
  happenedAt: Date | undefined;
  /** Where it is in the request, for errors: empty, or `events[3].`. */
  path: string;
}

/** Meters: what organizations count (decisions 10.9). Usage is reported, not charged. */
export function createMeters({ database, clock, random, events }: BillingDeps) {
  /** @throws {validation_error} for a time before 2000, or more than a day ahead */
  function timeOf({ happenedAt, path }: ReportedEvent): Date {
    if (happenedAt === undefined) return dateOf(clock);
    const at = happenedAt.getTime();
    if (at >= OLDEST_MS && at <= clock.now() + AHEAD_MS) return happenedAt;
    const message = "must be after the year 1999 and at most one day ahead";
    throw errors.validation({ fields: [{ field: `${path}timestamp`, code: "range", message }] });
  }

  return {
    /** Meters of the caller's organization, by name. */
    list: ({ caller }: CallerContext, page: Page) => store.metersOf(database, callerOrg(caller), page),

    /**
     * Makes a meter.
     * @throws {conflict} when the event name is taken, or the organization has 1,000 meters
     */
    create: async (context: CallerContext, wish: Omit<MeterRow, "id">): Promise<MeterRow> => {
      const orgUuid = callerOrg(context.caller);
      const meter = { id: random.uuid(), ...wish };
      await context.transaction(async (tx) => {
        const outcome = await store.insertMeter(tx, orgUuid, meter, dateOf(clock), MAX_METERS);
        if (outcome === "exists") throw billingErrors.meterExists();
        if (outcome === "full") throw billingErrors.tooManyMeters();
        await events.emit(tx, EVENTS["meter.created"], {
          by: causedBy(context),
          orgUuid,
          resourceId: meter.id,
          metadata: { name: meter.name, event_name: meter.eventName, aggregation: meter.aggregation },
        });
      });
      return meter;
    },

    /**
     * Records events, all or none. An id that the organization has used before counts once.
     * @throws {not_found} for an unknown event name
     * @throws {validation_error} for a time out of range
     */
    record: async (context: CallerContext, reported: readonly ReportedEvent[]) => {
      const orgUuid = callerOrg(context.caller);
      const byId = new Map<string, ReportedEvent & { at: Date }>();
      for (const event of reported) {
        const at = timeOf(event);
        if (!byId.has(event.id)) byId.set(event.id, { ...event, at });
      }
      const accepted = await context.transaction(async (tx) => {
        const meters = await store.metersToRecord(tx, orgUuid, [
          ...new Set(reported.map(({ eventName }) => eventName)),
        ]);
        const unknown = reported.find(({ eventName }) => !meters.has(eventName));
        if (unknown !== undefined)
          throw billingErrors.meterNotFound({ message: `No meter counts events named ${unknown.eventName}.` });
        const rows = [...byId.values()].map(({ id, eventName, value, at }) => ({
          id,
          meterId: certain(meters.get(eventName), "meter of the event"),
          value: String(value),
          happenedAt: at,
        }));
        return store.recordEvents(tx, orgUuid, rows, dateOf(clock));
      });
      return { accepted, duplicates: reported.length - accepted };
    },

    /**
     * What a meter counted from a time until before another, in all and by day.
     * @throws {not_found} when the organization has no such meter
     * @throws {validation_error} when the period ends before it begins
     */
    usage: async ({ caller }: CallerContext, id: string, from: Date | undefined, to: Date | undefined) => {
      const [begin, end] = [from ?? monthStart(dateOf(clock)), to ?? dateOf(clock)];
      if (end < begin)
        throw errors.validation({ fields: [{ field: "to", code: "range", message: "must not be before from" }] });
      const meter = await store.findMeter(database, callerOrg(caller), id);
      if (meter === undefined) throw billingErrors.meterNotFound();
      const rows = await store.usageByDay(database, id, begin, end);
      const days = rows.map((row) => ({ start: row.start, value: valueOf(meter.aggregation, [row]) }));
      return { from: begin, to: end, value: valueOf(meter.aggregation, rows), days };
    },

    tidy: createPeriodTurner({ database: database.background, clock }),
  };
}

function monthStart(at: Date): Date {
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1));
}

/** The value of some days; sums of decimals are exact until they become a number. */
function valueOf(aggregation: Aggregation, rows: readonly UsageRow[]): number {
  if (aggregation === "max") return Math.max(0, ...rows.map(({ max }) => Number(max)));
  if (aggregation === "count") return rows.reduce((total, { count }) => total + Number(count), 0);
  return Number(exactSum(rows.map(({ sum }) => sum)));
}

/** The sum of decimals such as `12.50`, as a decimal. */
function exactSum(decimals: readonly string[]): string {
  const places = Math.max(0, ...decimals.map((decimal) => decimal.split(".")[1]?.length ?? 0));
  let total = 0n;
  for (const decimal of decimals) {
    const [whole = "", rest = ""] = decimal.split(".");
    total += BigInt(whole + rest.padEnd(places, "0"));
  }
  return `${total}e-${places}`;
}
