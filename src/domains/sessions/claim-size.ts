import { MAX_TOKEN_LENGTH } from "../../platform/crypto/jwt.ts";

/** Claims that grow with what an organization has. */
interface Lists {
  entitlements: string[];
  app_admin: string[];
}

/** Names of the lists that a token does not contain as a whole. */
export type Truncated = (keyof Lists)[];

/** Maximum size of all claims: leaves 1 KiB for the header and the longest signature, that of RSA with 4,096 bits. */
const MAX_SIZE_BYTES = Math.floor(((MAX_TOKEN_LENGTH - 1024) * 3) / 4);

/**
 * Shortens the lists so that the token stays below its maximum length, and names the shortened ones in `truncated`.
 * Keeps the first entitlements (features of the plan come first) and the last apps, the newest. Each list has at least
 * half of the room, and what the other one leaves.
 */
export function fitClaims<C extends Lists>(claims: C): C & { truncated?: Truncated } {
  if (sizeOf(claims) <= MAX_SIZE_BYTES) return claims;
  const { entitlements, app_admin: apps } = claims;
  const both: Truncated = ["entitlements", "app_admin"];
  const room = MAX_SIZE_BYTES - sizeOf({ ...claims, entitlements: [], app_admin: [], truncated: both });
  const kept = {
    entitlements: startOf(entitlements, Math.max(room / 2, room - sizeOf(apps))),
    app_admin: [] as string[],
  };
  kept.app_admin = startOf(apps.toReversed(), room - sizeOf(kept.entitlements)).toReversed();
  return { ...claims, ...kept, truncated: both.filter((name) => kept[name].length < claims[name].length) };
}

/** As many of the first items as have a size in bytes as JSON. */
function startOf(items: readonly string[], sizeBytes: number): string[] {
  let left = sizeBytes;
  const end = items.findIndex((item) => (left -= sizeOf(item) + 1) < 0);
  return end < 0 ? [...items] : items.slice(0, end);
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
