/** Default lifetime of an automation token (decisions 7.7), seconds. */
export const DEFAULT_TOKEN_SECONDS = 3_600;
/** How long ended tokens, SVIDs and identities are kept. */
export const KEPT_MS = 30 * 86_400_000;
/** SVIDs that one statement revokes. */
export const REVOKED_AT_ONCE = 1_000;
/** Most active SVIDs that an identity's detail shows, the newest; the list of SVIDs has the others. */
export const MAX_SHOWN_SVIDS = 1_000;

/** `active`, `revoked` or `expired`. */
export function statusOf({ revokedAt, endsAt }: { revokedAt: Date | null; endsAt: Date }, nowMs: number): string {
  if (revokedAt !== null) return "revoked";
  return endsAt.getTime() <= nowMs ? "expired" : "active";
}
