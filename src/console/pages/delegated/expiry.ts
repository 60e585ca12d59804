import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { timestampMs } from "@bufbuild/protobuf/wkt";

const WEEK_MS = 7 * 86_400_000;

/** What the expiry of a credential depends on. */
interface Ending {
  status: string;
  createdAt?: Timestamp | undefined;
  expiresAt?: Timestamp | undefined;
}

/** Whether a credential ends soon: within a week, and within the last fifth of its life. */
export function expiresSoon({ status, createdAt, expiresAt }: Ending, nowMs: number): boolean {
  if (status !== "active" || createdAt === undefined || expiresAt === undefined) return false;
  const [from, to] = [timestampMs(createdAt), timestampMs(expiresAt)];
  return to - nowMs <= Math.min(WEEK_MS, (to - from) / 5);
}
