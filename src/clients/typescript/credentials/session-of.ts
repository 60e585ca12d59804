/**
 * Names the session that an access or elevated token belongs to, by its claims and without a check of its signature.
 * Undefined for what is no JWT.
 */
export function sessionOf(token: string | undefined): string | undefined {
  const payload = token?.split(".")[1]?.replaceAll("-", "+").replaceAll("_", "/");
  if (payload === undefined) return undefined;
  try {
    const { sid, org } = JSON.parse(atob(payload)) as { sid?: unknown; org?: unknown };
    return `${String(sid)} ${String(org)}`;
  } catch {
    return undefined;
  }
}
