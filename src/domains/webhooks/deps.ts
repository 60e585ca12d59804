import type { Clock } from "../../platform/clock.ts";
import type { Cursors } from "../../platform/cursors.ts";
import type { Sealer } from "../../platform/crypto/sealed.ts";
import type { Database } from "../../platform/db/types.ts";
import type { Log } from "../../platform/log.ts";
import type { GuardedClient } from "../../platform/outgoing/client.ts";
import type { Random } from "../../platform/random.ts";
import type { Access } from "../access/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { Organizations } from "../organizations/index.ts";

/** Dependencies of outgoing webhooks. */
export interface WebhookDeps {
  database: Database;
  clock: Clock;
  cursors: Cursors;
  random: Random;
  log: Log;
  /** Seals signing secrets with the instance key. */
  sealer: Sealer;
  /** For calls to endpoints; refuses private addresses. */
  outgoing: Pick<GuardedClient, "request" | "vetUrl">;
  events: Pick<Events, "emit" | "notify">;
  organizations: Pick<Organizations, "keep">;
  access: { apps: Pick<Access["apps"], "administered" | "demandAdministrator"> };
  config: {
    /** Waits before the attempts, milliseconds, each counted from the one before. */
    schedule: readonly number[];
    /** Timeout of a request to an endpoint. */
    timeoutMs: number;
    /** How long a replaced secret still signs. */
    secretOverlapMs: number;
  };
}

/** Sealing context of a signing secret. */
export function secretContext(webhookId: string): string {
  return `webhook-secret:${webhookId}`;
}
