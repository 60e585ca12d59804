import { afterAll, beforeAll, expect, it } from "vitest";
import { listenToStatements } from "../lists/statements.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

const statements = listenToStatements();
let app: TestApp;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  owner = await founder(app);
  await runSql(
    app.databaseUrl,
    `insert into roles (org_uuid, name, created_at)
     select $1, 'Role ' || lpad((n * 7 % 10)::text, 2, '0'), now() + n * interval '1 s' from generate_series(1, 9) n`,
    [owner.org],
  );
});
afterAll(() => app.close());

const BUILT_IN = ["admin", "manager", "employee", "observer", "limited_access"];
const BY_CREATION = [7, 4, 1, 8, 5, 2, 9, 6, 3].map((digit) => `Role 0${digit}`);

/** Names of the roles on every page of a list, which is read two at a time, and its total. */
async function read(query: string): Promise<{ names: string[]; total: number }> {
  const names: string[] = [];
  for (;;) {
    const path = `/api/roles?limit=2&offset=${names.length}&${query}`;
    const { body } = await app.call("GET", path, { token: owner.token });
    const page = body as { data: { name: string }[]; total: number };
    names.push(...page.data.map(({ name }) => name));
    if (page.data.length < 2) return { names, total: page.total };
  }
}

it("role lists are paged in every order, and the database reads a page of them alone", async () => {
  const all = [...BUILT_IN, ...BY_CREATION];
  const byName = all.toSorted((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1));
  statements.take();
  expect(await read("")).toEqual({ names: all, total: 14 });
  expect(await read("sort=created_at")).toEqual({ names: all, total: 14 });
  expect(await read("sort=-created_at")).toEqual({ names: all.toReversed(), total: 14 });
  expect(await read("sort=name")).toEqual({ names: byName, total: 14 });
  expect(await read("sort=-name")).toEqual({ names: byName.toReversed(), total: 14 });
  expect(await read("q=ROLE&sort=-name")).toEqual({ names: BY_CREATION.toSorted().toReversed(), total: 9 });
  expect(await read("q=nowhere")).toEqual({ names: [], total: 0 });
  const texts = statements.take().map(({ text }) => text.replaceAll(/\s+/gu, " "));
  const lists = texts.filter((text) => /from roles where/u.test(text));
  expect(lists.length).toBeGreaterThan(10);
  for (const text of lists) expect(text).toMatch(/\blimit\b/u);
});
