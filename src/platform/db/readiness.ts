import { connectionReason, isReadOnly, WrongRoleError } from "./failure.ts";
import { migrationTable } from "./requirements.ts";
import type { Database } from "./types.ts";

/** Each is `ok` or a short description of the problem. */
export interface Readiness {
  database: string;
  migrations: string;
  /** Why the database is unreachable, for the log: it may name addresses and roles. */
  reason?: string;
}

/** Queries the database and compares its migrations with `expected`; resolves within 2 s, never rejects. */
export async function readReadiness(prepared: Database["prepared"], expected: readonly string[]): Promise<Readiness> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("it does not respond")), 1_800);
  });
  try {
    const asked = prepared<{ name: string; isReadOnly: boolean }>(
      "ready",
      `select name, current_setting('transaction_read_only') = 'on' as "isReadOnly" from ${migrationTable}`,
      [],
    );
    asked.catch(() => undefined);
    const rows = await Promise.race([asked, late]);
    if (rows[0]?.isReadOnly === true) return { database: "read-only", migrations: "unknown" };
    const done = new Set(rows.map((row) => row.name));
    const missing = expected.filter((name) => !done.has(name));
    return { database: "ok", migrations: missing.length === 0 ? "ok" : `missing: ${missing.join(", ")}` };
  } catch (error) {
    // undefined_table, and invalid_parameter_value for a role that does not exist yet
    const { code, cause } = error as { code?: string; cause?: unknown };
    if (cause instanceof WrongRoleError) return { database: "not in the restricted role", migrations: "unknown" };
    if (isReadOnly(cause)) return { database: "read-only", migrations: "unknown" };
    if (code === "42P01" || code === "22023") return { database: "ok", migrations: "not run" };
    return {
      database: "unreachable",
      migrations: "unknown",
      reason: connectionReason((cause ?? error) as Error),
    };
  } finally {
    clearTimeout(timer);
  }
}
