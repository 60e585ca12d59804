import type { Clock } from "../../platform/clock.ts";
import type { Sealer } from "../../platform/crypto/sealed.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import type { GuardedClient } from "../../platform/outgoing/client.ts";
import type { FieldViolation } from "../../platform/errors.ts";
import type { Random } from "../../platform/random.ts";
import type { Caller, RequestInfo } from "../../platform/caller.ts";
import type { Access } from "../access/index.ts";
import type { MarketplaceAuditType } from "./events.ts";

/** An administrative action for the organization's audit log. */
export interface MarketplaceAudit {
  type: MarketplaceAuditType;
  orgUuid: string;
  /** Who did it; null for the service itself. */
  caller: Pick<Caller, "principal" | "userUuid" | "email"> | null;
  info: Pick<RequestInfo, "address" | "userAgent"> | null;
  resourceType: "app" | "install";
  resourceId: string;
  metadata: Record<string, unknown>;
}

/** What the marketplace needs of the rest. */
export interface MarketplaceDeps {
  database: Database;
  clock: Clock;
  random: Random;
  /** Seals provision secrets with the instance key. */
  sealer: Sealer;
  /** Guarded client for calls to publishers. */
  outgoing: GuardedClient;
  /** Why a URL given by a tenant cannot be called, if that is clear from the URL alone. */
  vetUrl(url: string): FieldViolation | undefined;
  /** Records an administrative action in the transaction of its effect. */
  audit(tx: Tx, event: MarketplaceAudit): Promise<void>;
  /** Whether an organization lives; if so, it does not end before the transaction does. */
  keepOrg(tx: Tx, orgUuid: string): Promise<boolean>;
  /** Whether an organization lives, without keeping it from ending. */
  orgLives(tx: Tx, orgUuid: string): Promise<boolean>;
  /** Names of organizations, by uuid, without a transaction. */
  orgNames(orgUuids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Name of an organization. */
  orgName(tx: Pick<Tx, "query">, orgUuid: string): Promise<string>;
  access: Pick<Access, "apps">;
  /** People of the publishing organization. */
  people: {
    ownersOf(orgUuid: string): Promise<{ userUuid: string; email: string }[]>;
    emailsOf(userUuids: readonly string[]): Promise<ReadonlyMap<string, string>>;
    activeMembersOf(orgUuid: string, userUuids: readonly string[]): Promise<ReadonlySet<string>>;
    /** Whether somebody is an active member; an active member is not removed before the transaction ends. */
    keepActiveMember(tx: Tx, orgUuid: string, userUuid: string): Promise<boolean>;
  };
  config: {
    /** Public URL of the service, no trailing slash. */
    baseUrl: string;
    /** Patience with a publisher that does not provision. */
    provisionDeadlineMs: number;
    /** Patience with a publisher that does not deprovision. */
    deprovisionDeadlineMs: number;
    /** Longest wait for an answer of a publisher. */
    webhookTimeoutMs: number;
    /** Waits before the attempts, each counted from the one before; the last repeats. */
    schedule: readonly number[];
  };
}

/** Context a provision secret is sealed under. */
export function secretContext(appId: string): string {
  return `app-provision-secret:${appId}`;
}
