/*
 * The hash chain of an organization's log. What is hashed or signed is the UTF-8 encoding of canonical JSON: members
 * sorted by UTF-16 code units, no white space, numbers and strings as ECMAScript prints them (RFC 8785).
 *
 *   payload_hash = SHA-256(canonical(event as it is exported, without the members of the chain))
 *   hash         = SHA-256(canonical({created_at, event_id, org_uuid, payload_hash, previous_hash, sequence}))
 *   signature    = over "atrium.audit.head.v1\n" + canonical({at, hash, org_uuid, sequence})
 *
 * Hashes are lower-case hex, sequences count from 1, and the first link's `previous_hash` is 64 zeros. A link does not
 * need its event, so that a purged event leaves the chain whole; it does hold the event's time, so that only old events
 * can have been purged.
 */

/** `previous_hash` of the first link. */
export const GENESIS = "0".repeat(64);

/** An event as it is exported and hashed. */
export interface PrintedEvent {
  event_id: string;
  type: string;
  outcome: string;
  user_uuid: string | null;
  org_uuid: string | null;
  ip_address: string;
  user_agent: string;
  metadata: Record<string, unknown>;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
  actor: { type: string; id: string | null; email: string | null } | null;
  resource_type: string | null;
  resource_id: string | null;
}

/** Hashed members of a link. */
export interface LinkFacts {
  org_uuid: string | null;
  sequence: number;
  previous_hash: string;
  event_id: string;
  created_at: string;
  payload_hash: string;
}

/** Signed members of a head. */
export interface HeadFacts {
  org_uuid: string | null;
  sequence: number;
  hash: string;
  at: string;
}

/** Canonical JSON (RFC 8785). */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const object = value as Record<string, unknown>;
  const members = Object.keys(object)
    .filter((key) => object[key] !== undefined)
    .sort();
  return `{${members.map((key) => `${JSON.stringify(key)}:${canonical(object[key])}`).join(",")}}`;
}

/** A link whose event is not in the export: purged, or outside the requested times. */
export interface ExportedGap {
  sequence: number;
  previous_hash: string;
  hash: string;
  event_id: string;
  created_at: string;
  payload_hash: string;
  purged: boolean;
}

/** An event with its place in the chain; `before` holds the links between the event before it and this one. */
export type ExportedEvent = PrintedEvent & {
  sequence: number;
  previous_hash: string;
  hash: string;
  before?: ExportedGap[];
};

/** Summary of an export. */
export interface ExportSummary {
  /** Events in it. */
  total: number;
  /** The requested times, RFC 3339; null where open. */
  from: string | null;
  to: string | null;
  /** Signed head at the last event of the export; null without events, or when the chain is not valid. */
  head: { sequence: number; hash: string; signature: string; kid: string; at: string } | null;
}

/** What `payload_hash` is the SHA-256 of. */
export function eventText({
  event_id,
  type,
  outcome,
  user_uuid,
  org_uuid,
  ip_address,
  user_agent,
  metadata,
  created_at,
  actor,
  resource_type,
  resource_id,
}: PrintedEvent): string {
  return canonical({
    event_id,
    type,
    outcome,
    user_uuid,
    org_uuid,
    ip_address,
    user_agent,
    metadata,
    created_at,
    actor,
    resource_type,
    resource_id,
  });
}

/** What the `hash` of a link is the SHA-256 of. */
export function linkText({ org_uuid, sequence, previous_hash, event_id, created_at, payload_hash }: LinkFacts): string {
  return canonical({ org_uuid, sequence, previous_hash, event_id, created_at, payload_hash });
}

/** What the signature of a head covers; its prefix cannot begin a JWT. */
export function headText({ org_uuid, sequence, hash, at }: HeadFacts): string {
  return `atrium.audit.head.v1\n${canonical({ org_uuid, sequence, hash, at })}`;
}
