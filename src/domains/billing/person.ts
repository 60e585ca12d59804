import type { Caller } from "../../platform/caller.ts";

/** The person who acts, or who made the key that acts; undefined for a workload. */
export function personOf({ userUuid, countsAs }: Caller): string | undefined {
  return userUuid ?? /^user:(.+)$/u.exec(countsAs ?? "")?.[1];
}
