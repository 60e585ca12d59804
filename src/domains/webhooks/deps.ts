import type { Events } from "../event-catalogue/index.ts";
import type { Caller, RequestInfo } from "../../platform/caller.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Sealer } from "../../platform/crypto/sealed.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import type { FieldViolation } from "../../platform/errors.ts";
import type { Log } from "../../platform/log.ts";
import type { GuardedClient } from "../../platform/outgoing/client.ts";
import type { Random } from "../../platform/random.ts";

/** What outgoing webhooks need of the rest. */
export interface WebhookDeps {
  events: Events;
  database: Database;
  clock: Clock;
  random: Random;
  log: Log;
  /** Seals signing secrets with the instance key. */
  sealer: Sealer;
  outgoing: Pick<GuardedClient, "request">;
  /** Why a URL given by a tenant cannot be called, if that is clear from the URL alone. */
  vetUrl(url: string): FieldViolation | undefined;
  /** Whether an organization lives; if so, it does not end before the transaction does. */
  keepOrg(tx: Tx, orgUuid: string): Promise<boolean>;
  /** Records an administrative action in the transaction of its effect. */
  audit(
    tx: Tx,
    event: {
      type: "webhook.created" | "webhook.updated" | "webhook.deleted" | "key.rotated";
      orgUuid: string;
      caller: Caller;
      info: RequestInfo;
      webhookId: string;
      metadata: Record<string, unknown>;
    },
  ): Promise<void>;
  /** The organization that publishes an app, where the caller administers it. */
  administeredApp(caller: Caller, appId: string): Promise<{ orgUuid: string } | undefined>;
  /**
   * Judges in the transaction that writes whether the caller still administers an app; it stays so until that ends.
   * Throws `unauthorized`.
   */
  keepAdministering(tx: Tx, caller: Caller, app: { appId: string; orgUuid?: string }): Promise<void>;
  /** Whether the caller administers an app that is known to exist. */
  administers(caller: Caller, appId: string): boolean;
  /** Ids of the apps the caller administers. */
  administeredApps(caller: Caller): Promise<string[]>;
  config: {
    /** Waits before the attempts, milliseconds, each counted from the one before. */
    schedule: readonly number[];
    /** Longest wait for an answer. */
    timeoutMs: number;
    /** How long a replaced secret goes on signing. */
    secretOverlapMs: number;
  };
}

/** Context a signing secret is sealed under. */
export function secretContext(webhookId: string): string {
  return `webhook-secret:${webhookId}`;
}
