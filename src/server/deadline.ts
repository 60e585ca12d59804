/** Longest delay of a timer, milliseconds. Connect refuses longer deadlines. */
export const MAX_TIMEOUT_MS = 2 ** 31 - 1;

const UNIT_MS = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };

/** Returns the milliseconds of a `grpc-timeout`, at most `MAX_TIMEOUT_MS`; undefined without one. */
export function grpcTimeoutMs(header: string | string[] | undefined): number | "malformed" | undefined {
  if (header === undefined) return undefined;
  const found = typeof header === "string" ? /^(\d{1,8})([HMSmun])$/.exec(header) : null;
  if (found === null) return "malformed";
  return Math.min(MAX_TIMEOUT_MS, Number(found[1]) * UNIT_MS[found[2] as keyof typeof UNIT_MS]);
}

/** Shortens well-formed deadlines beyond the longest timer, such as those that clients send for "none". */
export function capDeadlines(headers: Headers): void {
  if (grpcTimeoutMs(headers.get("grpc-timeout") ?? undefined) === MAX_TIMEOUT_MS)
    headers.set("grpc-timeout", `${Math.floor(MAX_TIMEOUT_MS / 1_000)}S`);
  const connect = headers.get("connect-timeout-ms");
  if (connect !== null && /^\d{1,10}$/.test(connect) && Number(connect) > MAX_TIMEOUT_MS)
    headers.set("connect-timeout-ms", String(MAX_TIMEOUT_MS));
}
