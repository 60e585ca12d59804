/** Who did it, as the wider log shows it. */
export interface Actor {
  /** Kind of principal: `user`, `api_key`, `automation_token`, `svid`, `scim_token`, `system`. */
  type: string;
  /** Id of the principal; null for `system`. */
  id: string | null;
  /** Address of a person, null otherwise. */
  email: string | null;
}

/** Something that happened, to be recorded. */
export interface AuditEvent {
  /** Type as the logs show it; declared in the event catalogue. */
  type: string;
  /** Whether the log of authentication events shows it too. */
  isAuthentication: boolean;
  outcome: "success" | "failure";
  /** The person it happened to or who did it; null when unknown or not a person. */
  userUuid: string | null;
  /** The organization it belongs to; null when unknown. */
  orgUuid: string | null;
  /** Where the request came from. */
  info: { address: string; userAgent: string };
  /** JSON; never a secret. */
  metadata?: Readonly<Record<string, unknown>>;
  actor?: Actor | null;
  resource?: { type: string; id: string };
}

/** An event as it is stored. */
export interface AuditRecord {
  eventId: string;
  type: string;
  outcome: string;
  userUuid: string | null;
  orgUuid: string | null;
  ipAddress: string;
  userAgent: string;
  metadata: Record<string, unknown>;
  actor: Actor | null;
  resourceType: string | null;
  resourceId: string | null;
  createdAt: Date;
}
