import type { Caller, RequestInfo } from "../../platform/caller.ts";
import type { Tx } from "../../platform/db/types.ts";
import { actorOf, personActor, systemActor } from "../audit-record/index.ts";
import type { Actor, AuditRecordWriter } from "../audit-record/index.ts";
import type { Announce, Announcement } from "./announce.ts";
import type { DataOf, EventRow } from "./row.ts";

/** Who caused an event, and from where. */
export interface Cause {
  /** Null where nobody is known, as after a refused login. */
  actor: Actor | null;
  /** The person it is about unless the event says otherwise; null where there is none. */
  userUuid: string | null;
  info: Pick<RequestInfo, "address" | "userAgent">;
}

/** Who or what ends something together with something else, and why. */
export interface EndedBy {
  by: Cause;
  /** In one word, for the audit log. */
  reason: string;
}

/** One event to record. */
export type Occurrence<R extends EventRow> = {
  by: Cause;
  /** The organization whose log shows it; null for none. */
  orgUuid: string | null;
  /** The person it is about; `by.userUuid` when absent. */
  userUuid?: string | null | undefined;
  /** For the audit log; JSON, never a secret. */
  metadata?: Readonly<Record<string, unknown>> | undefined;
} & (R["resource"] extends string ? { resourceId?: string | undefined } : { resourceId?: undefined }) &
  (R["webhook"] extends string
    ? {
        /** `data` of the webhook event; without it, webhooks receive nothing. */
        data?: DataOf<R["data"]> | undefined;
        /** Organizations whose webhooks receive it; `orgUuid` when absent. */
        receivers?: readonly string[] | undefined;
        /** The app of an `app.*` or `install.*` event: its webhooks receive it too. */
        appId?: string | undefined;
      }
    : { data?: undefined; receivers?: undefined; appId?: undefined });

/** The cause of what a caller does. */
export function causedBy({
  caller,
  info,
}: {
  caller: Pick<Caller, "principal" | "email" | "userUuid">;
  info: Cause["info"];
}): Cause {
  return { actor: actorOf(caller), userUuid: caller.userUuid, info };
}

/** The cause of what a person does without a token, such as joining an organization. */
export function causedByPerson({ userUuid, email }: { userUuid: string; email: string }, info: Cause["info"]): Cause {
  return { actor: personActor(userUuid, email), userUuid, info };
}

/** The cause of an event whose actor the log does not name, such as a sign-in; `userUuid` is the person, if known. */
export function withoutActor(userUuid: string | null, info: Cause["info"]): Cause {
  return { actor: null, userUuid, info };
}

/** The cause of what the service does by itself. */
export const bySystem: Cause = { actor: systemActor, userUuid: null, info: { address: "", userAgent: "atrium" } };

/** The credential of an organization that caused an event, which has no person (decisions 7.7); else undefined. */
function principalOf(actor: Actor | null): Pick<Actor, "type" | "id"> | undefined {
  return actor !== null && CREDENTIALS.has(actor.type) ? { type: actor.type, id: actor.id } : undefined;
}

const CREDENTIALS: ReadonlySet<string> = new Set(["api_key", "automation_token", "svid", "scim_token"]);

/** Records events of the catalogue: in the audit log and for webhooks, in the transaction in which they happen. */
export function createEvents(record: AuditRecordWriter, announce: Announce) {
  function audited<R extends EventRow>(row: R, type: string, { by, orgUuid, ...event }: Occurrence<R>) {
    const principal = principalOf(by.actor);
    return {
      type,
      isAuthentication: row.isAuthentication,
      userUuid: event.userUuid === undefined ? by.userUuid : event.userUuid,
      orgUuid,
      info: by.info,
      actor: by.actor,
      ...((event.metadata ?? principal) !== undefined && {
        metadata: { ...event.metadata, ...(principal !== undefined && { principal }) },
      }),
      ...(row.resource !== null &&
        event.resourceId !== undefined && { resource: { type: row.resource, id: event.resourceId } }),
    };
  }

  async function announceTo<R extends EventRow>(tx: Tx, row: R, event: Occurrence<R>): Promise<void> {
    if (row.webhook === null || event.data === undefined) return;
    await announce(tx, { type: row.webhook, appId: event.appId, events: sentOf<R>(event) });
  }

  /** What webhooks receive of an event, by organization. */
  function sentOf<R extends EventRow>(event: Occurrence<R>): Announcement["events"] {
    const { orgUuid, data, receivers = orgUuid === null ? [] : [orgUuid] } = event;
    return data === undefined ? [] : receivers.map((receiver) => ({ orgUuid: receiver, data }));
  }

  return {
    /** Records an event that happened, and sends it to the webhooks where there is `data`. */
    async emit<R extends EventRow>(tx: Tx, row: R, event: Occurrence<R>): Promise<void> {
      if (row.audit !== null) record.append(tx, { ...audited(row, row.audit, event), outcome: "success" });
      await announceTo(tx, row, event);
    },

    /** Records reads of one kind in the audit log, in one statement of its own. */
    async emitAll<R extends EventRow & { audit: string }>(row: R, reads: readonly Occurrence<R>[]): Promise<void> {
      if (reads.length > 0) await record.appendAll(reads.map((read) => audited(row, row.audit, read)));
    },

    /**
     * Records events of one kind that happened in one transaction, in one statement, and sends them to the webhooks of
     * their organizations in another.
     */
    async emitEach<R extends EventRow & { audit: string }>(
      tx: Tx,
      row: R,
      events: readonly Occurrence<R>[],
    ): Promise<void> {
      if (events.length === 0) return;
      record.appendAllIn(
        tx,
        events.map((event) => audited(row, row.audit, event)),
      );
      if (row.webhook === null) return;
      await announce(tx, { type: row.webhook, events: events.flatMap((event) => sentOf<R>(event)) });
    },

    /** Sends an event to the webhooks of an organization alone. */
    notify<R extends EventRow & { webhook: string }>(
      tx: Tx,
      row: R,
      { appId, ...event }: { orgUuid: string; data: DataOf<R["data"]>; appId?: string | undefined },
    ): Promise<void> {
      return announce(tx, { type: row.webhook, appId, events: [event] });
    },

    /** Sends events of one kind to the webhooks of their organizations alone, in one statement. */
    notifyEach<R extends EventRow & { webhook: string }>(
      tx: Tx,
      row: R,
      events: readonly { orgUuid: string; data: DataOf<R["data"]> }[],
    ): Promise<void> {
      return announce(tx, { type: row.webhook, events });
    },

    /** Records in the audit log, in a transaction that commits, that something was refused. */
    async emitFailure<R extends EventRow & { audit: string }>(tx: Tx, row: R, event: Occurrence<R>): Promise<void> {
      record.append(tx, { ...audited(row, row.audit, event), outcome: "failure" });
    },

    /** Records that something was refused in a transaction of its own, so that it outlives the refused work. */
    async recordFailure<R extends EventRow & { audit: string }>(row: R, event: Occurrence<R>): Promise<void> {
      await record.appendFailure(audited(row, row.audit, event));
    },
  };
}

/** Records events of the catalogue. */
export type Events = ReturnType<typeof createEvents>;
