import { setTimeout as sleep } from "node:timers/promises";
import { runSql } from "../support/postgres.ts";
import type { Acknowledged, Workload, Outcome } from "./workload.ts";
import type { Servers } from "./servers.ts";

/** Outcome of everything that was acknowledged. */
export interface Report {
  installs: number;
  /** Acknowledged installs by their state. */
  states: Record<string, number>;
  events: number;
  delivered: number;
  /** Posts that brought an event once more. */
  repeated: number;
  /** Violations; empty is right. */
  wrong: string[];
}

/** Events each outcome has at least. */
const announced: Readonly<Record<Outcome, readonly string[]>> = {
  done: ["install.provisioning", "install.active"],
  accepted: ["install.provisioning", "install.active"],
  refused: ["install.provisioning", "install.failed"],
  "given back": ["install.provisioning", "install.deprovisioning", "install.deprovisioned"],
};

/** Waits until no work is left; resolves to the duration, or to what is left after `settleTimeoutMs`. */
export async function drained(
  { databaseUrl }: Servers,
  settleTimeoutMs: number,
  log: (line: string) => void,
): Promise<{ ms: number; left: string }> {
  const since = Date.now();
  for (let round = 1; ; round++) {
    const [row] = await runSql<Record<string, string>>(
      databaseUrl,
      `select (select count(*) from outbox where topic not like 'mail.%') as outbox,
      (select count(*) from installs
       where step is not null or status in ('provisioning', 'deprovisioning')) as installs,
      (select count(*) from webhook_deliveries where status = 'pending') as deliveries`,
    );
    const left = Object.entries(row ?? {}).filter(([, count]) => count !== "0");
    const ms = Date.now() - since;
    const told = left.map(([what, count]) => `${count} ${what}`).join(", ");
    if (left.length === 0 || ms > settleTimeoutMs) return { ms, left: told };
    if (round % 60 === 0) log(`under way: ${told}`);
    await sleep(250);
  }
}

/** Compares the database and the peers' records with what was acknowledged. */
export async function verifyAcknowledged(
  { databaseUrl }: Servers,
  { publisher, receiver }: Workload,
  acknowledged: Acknowledged,
): Promise<Report> {
  const wrong: string[] = [];
  const log = (what: string): void => void (wrong.length < 50 && wrong.push(what));

  const rows = await runSql<{ install_id: string; status: string; failure_reason: string | null; events: string[] }>(
    databaseUrl,
    `select i.install_id, i.status, i.failure_reason,
       array(select event from install_timeline t where t.install_id = i.install_id order by t.id) as events
     from installs i`,
  );
  const installs = new Map(rows.map((row) => [row.install_id, row]));
  const states: Record<string, number> = {};
  for (const { installId, outcome } of acknowledged.installs) {
    const row = installs.get(installId);
    if (row === undefined) {
      log(`install ${installId} is lost`);
      continue;
    }
    states[row.status] = (states[row.status] ?? 0) + 1;
    const told = `${row.status}${row.failure_reason === null ? "" : " with a reason"}`;
    const right =
      outcome === "refused" ? "deprovisioned with a reason" : outcome === "given back" ? "deprovisioned" : "active";
    if (told !== right) log(`install ${installId} (${outcome}) is ${told}: ${row.events.join()}`);
    for (const event of ["requested", "active", "failed", "deprovisioning", "deprovisioned"])
      if (row.events.filter((one) => one === event).length > 1) log(`install ${installId} was ${event} more than once`);
  }
  if (rows.length !== acknowledged.installs.length)
    log(`${rows.length} installs stand for ${acknowledged.installs.length} that were acknowledged`);

  const asked = new Map<string, string>();
  for (const { message } of publisher.got.values()) {
    const what = `${message.type} ${message.data.install_id ?? ""}`;
    if ((asked.get(what) ?? message.id) !== message.id) log(`the publisher was asked under two ids: ${what}`);
    asked.set(what, message.id);
  }

  const deliveries = await runSql<{
    delivery_id: string;
    event_id: string;
    type: string;
    status: string;
    install_id: string | null;
  }>(
    databaseUrl,
    `select d.delivery_id, d.event_id, e.type, d.status, e.body::json->'data'->>'install_id' as install_id
     from webhook_deliveries d join webhook_events e using (event_id)`,
  );
  const arrived = new Set([...receiver.got.values()].map(({ message }) => message.id));
  const stored = new Map(deliveries.map((row) => [row.delivery_id, row]));
  for (const id of acknowledged.deliveries) if (!stored.has(id)) log(`delivery ${id} is lost`);
  for (const { event_id: id, type, status } of deliveries)
    if (status !== "delivered" || !arrived.has(id))
      log(`${type} ${id} is ${status} and ${arrived.has(id) ? "arrived" : "never arrived"}`);
  const known = new Set(deliveries.map((row) => row.event_id));
  for (const id of arrived) if (!known.has(id)) log(`${id} arrived, which never happened`);
  const about = deliveries.filter((row) => row.install_id !== null).map((row) => `${row.type} ${row.install_id ?? ""}`);
  const heard = new Set(about);
  if (heard.size !== about.length) log("something that happened once has two events");
  for (const { installId, outcome } of acknowledged.installs)
    for (const event of announced[outcome])
      if (!heard.has(`${event} ${installId}`)) log(`nobody was told of ${event} of ${installId}`);
  if (publisher.forged + receiver.forged > 0) log(`${publisher.forged + receiver.forged} posts had a wrong signature`);

  return {
    installs: acknowledged.installs.length,
    states,
    events: deliveries.length,
    delivered: deliveries.filter(({ status }) => status === "delivered").length,
    repeated: [...receiver.got.values()].reduce((sum, { times }) => sum + times - 1, 0),
    wrong,
  };
}
