import type { Reauthorize } from "./types.ts";

/** Combines the checks of several callers: those with the same joint statement become one. */
export function combined(checks: readonly Reauthorize[]): Reauthorize[] {
  return [...Map.groupBy(checks, (check) => check.joint?.sql ?? check)].flatMap(([sql, alike]) =>
    typeof sql !== "string" || alike.length === 1 ? alike : [together(sql, alike)],
  );
}

function together(sql: string, checks: readonly Reauthorize[]): Reauthorize {
  return async (tx, how) => {
    const rows = checks.map(({ joint }) => joint?.row(how) ?? []);
    const columns = (rows[0] ?? []).map((_, nth) => rows.map((row) => row[nth]));
    await tx.query(sql, columns);
  };
}
