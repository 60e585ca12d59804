import { afterAll, beforeAll, expect, it } from "vitest";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { runSql } from "../support/postgres.ts";
import { bounds } from "./bounds.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

it("every table has a bound, so that none grows forever", async () => {
  const rows = await runSql<{ name: string }>(
    database.url,
    `select relname as name from pg_class
     where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace order by relname`,
  );
  expect(rows.map(({ name }) => name)).toEqual(Object.keys(bounds).sort());
});
