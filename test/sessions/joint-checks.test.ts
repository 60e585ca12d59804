import { randomUUID } from "node:crypto";
import { decodeJwt, decodeProtectedHeader } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { combined } from "../../src/platform/db/reauthorization.ts";
import type { Reauthorize } from "../../src/platform/db/types.ts";
import { REAUTHORIZE_SESSIONS } from "../../src/domains/sessions/store.ts";
import type { SessionCheck } from "../../src/domains/sessions/store.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

let app: TestApp;
let checks: SessionCheck[];
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  const tokens = [await founder(app), await founder(app), await founder(app)].map(({ token }) => token);
  checks = tokens.map((token) => {
    const { sid, sub = "", org, mv } = decodeJwt<{ sid: string; org: string; mv: number }>(token);
    const { kid = "" } = decodeProtectedHeader(token);
    return [sid, kid, sub, org, mv, false, false, false, new Date(app.clock.now()), false];
  });
});
afterAll(() => app.close());

/** Checks all in one statement; resolves to the code of its error, if it fails. */
async function checkTogether(rows: readonly SessionCheck[]): Promise<unknown> {
  const alone: Reauthorize = () => Promise.reject(new Error("not checked together"));
  const all = rows.map((row) =>
    Object.assign(alone.bind(null), { joint: { sql: REAUTHORIZE_SESSIONS, row: () => row } }),
  );
  const [check, ...others] = combined(all);
  expect(others).toEqual([]);
  const tx = {
    query: <R extends object>(sql: string, params?: readonly unknown[]) =>
      runSql<R>(app.databaseUrl, sql, [...(params ?? [])]),
  };
  return check?.(tx, "keep").then(
    () => "passed",
    (error: unknown) => (error as { code?: unknown }).code,
  );
}

test("sessions of several people pass one check together, also one person's twice", async () => {
  expect(await checkTogether([...checks, ...checks.slice(0, 1)])).toBe("passed");
});

const wrong: readonly (readonly [string, number, unknown])[] = [
  ["an unknown session", 0, randomUUID()],
  ["an unknown key", 1, "x".repeat(43)],
  ["another person", 2, randomUUID()],
  ["another organization", 3, randomUUID()],
  ["an old version of a membership", 4, 99],
  ["a flag that the person does not have", 5, true],
  ["an ended session", 8, new Date("2100-01-01")],
];
test.each(wrong)("one check of several sessions fails with %s, wherever it stands", async (_, member, value) => {
  for (const at of checks.keys()) {
    const rows = checks.map((row, nth) =>
      nth === at ? (row.with(member, value as never) as unknown as SessionCheck) : row,
    );
    expect(await checkTogether(rows)).toBe("AT401");
  }
});
