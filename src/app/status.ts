import { stuckInstalls } from "../domains/marketplace/index.ts";
import { openDeliveries } from "../domains/webhooks/index.ts";
import { migrations } from "../migrations/index.ts";
import { systemClock } from "../platform/clock.ts";
import { createOutbox, openDatabase } from "../platform/db/index.ts";
import type { OpenDatabase } from "../platform/db/index.ts";
import type { Log } from "../platform/log.ts";
import { createTemporalClient } from "../platform/temporal/client.ts";
import type { TemporalTarget } from "../platform/temporal/connection.ts";

/** An outbox message that waits longer than this, or an install that takes longer, counts as stuck. */
const LATE_MS = 60_000;
const SLOW_INSTALL_MS = 10 * 60_000;
const SHOWN = 20;

/** Report for an operator. */
export interface Status {
  lines: string[];
  /** Nothing is stuck and everything is reachable. */
  healthy: boolean;
}

function age(ms: number): string {
  if (ms < 60_000) return `${Math.round(ms / 1_000)} s`;
  return ms < 3_600_000 ? `${Math.round(ms / 60_000)} min` : `${(ms / 3_600_000).toFixed(1)} h`;
}

function counted(count: number, what: string): string {
  return `${count}${count === SHOWN ? " or more" : ""} ${what}${count === 1 ? "" : "s"}`;
}

/** The first line of an error, shortened. */
function oneLine(error: string | null): string {
  return (error ?? "").split("\n", 1)[0]?.slice(0, 200) ?? "";
}

const withReason = (state: string, reason: string | undefined): string =>
  reason === undefined ? state : `${state}: ${reason}`;
const line = (name: string, text: string): string => `${name.padEnd(12)} ${text}`;

async function work(database: OpenDatabase): Promise<Status> {
  const outbox = createOutbox({ database, clock: systemClock });
  const now = systemClock.now();
  const [oldest, topics, endpoints, installs] = await Promise.all([
    outbox.oldestAge(),
    outbox.counts(),
    openDeliveries(database, SHOWN),
    stuckInstalls(database, new Date(now - SLOW_INSTALL_MS), SHOWN),
  ]);
  const lines = [line("outbox", topics.length === 0 ? "empty" : `oldest message that is due or fails: ${age(oldest)}`)];
  for (const { topic, rows, failing, failingMs, lastError } of topics) {
    const tried = failing > 0 ? `, ${failing} tried before, for up to ${age(failingMs)} (${oneLine(lastError)})` : "";
    lines.push(line("", `${topic}: ${rows} waiting${tried}`));
  }
  lines.push(
    line("deliveries", endpoints.length === 0 ? "none open" : `open at ${counted(endpoints.length, "endpoint")}`),
  );
  for (const { webhookId: id, url, open, failingSince: since, next, lastError: error } of endpoints) {
    const failing =
      since === null ? "" : `, failing for ${age(now - since.getTime())}${error === null ? "" : ` (${error})`}`;
    lines.push(
      line(
        "",
        `${url} (webhook ${id}): ${open} open${failing}, ` +
          `next attempt ${next.getTime() > now ? `in ${age(next.getTime() - now)}` : "due"}`,
      ),
    );
  }
  lines.push(
    line(
      "installs",
      installs.length === 0
        ? `none under way for more than ${age(SLOW_INSTALL_MS)}`
        : `${counted(installs.length, "install")} under way for more than ${age(SLOW_INSTALL_MS)}`,
    ),
  );
  for (const { installId: id, slug, status, since, last } of installs)
    lines.push(line("", `${id} ${slug}: ${status} for ${age(now - since.getTime())}; ${last ?? "no attempt yet"}`));
  return {
    lines,
    healthy: oldest < LATE_MS && endpoints.every((endpoint) => endpoint.failingSince === null) && installs.length === 0,
  };
}

/** Reads from the database and Temporal what is stuck and why. Starts and changes nothing. */
export async function readStatus(
  servers: { databaseUrl: string; temporal: TemporalTarget },
  log: Log,
): Promise<Status> {
  const database = await openDatabase({ url: servers.databaseUrl, entities: [], migrations, clock: systemClock, log });
  const temporal = createTemporalClient(servers.temporal);
  try {
    const [ready, workflows] = await Promise.all([database.ready(), temporal.health()]);
    const reachable = [
      line("database", withReason(ready.database, ready.reason)),
      line("migrations", ready.migrations),
      line("temporal", withReason(workflows.state, workflows.reason)),
    ];
    if (ready.database !== "ok" || ready.migrations !== "ok") return { lines: reachable, healthy: false };
    const { lines, healthy } = await work(database);
    return { lines: [...reachable, ...lines], healthy: healthy && workflows.state === "ok" };
  } finally {
    await Promise.all([database.close(), temporal.close()]);
  }
}
