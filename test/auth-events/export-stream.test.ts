import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { seedEvents } from "./chain-support.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

const SLOW_MS = 2_000;

it("the export of an early range sends its events before the rest of the chain has been read", async () => {
  const by = await founder(app);
  const start = new Date(Date.now() - 3_600_000);
  await seedEvents(app.databaseUrl, { orgUuid: by.org, events: 20, from: start });
  const organization = `/api/organizations/${by.org}/audit-events`;
  const { body } = await app.call("GET", `${organization}/verify`, { token: by.token });
  // Whoever reads the last link waits.
  await runSql(
    app.databaseUrl,
    `create function read_slowly(place integer) returns boolean language plpgsql as $$ begin
       if place = ${body.head.sequence as number} then perform pg_sleep(${SLOW_MS / 1_000}); end if;
       return true; end $$;
     create policy slow on audit_links using (org_key <> '${by.org}' or read_slowly(position)) with check (true);
     alter table audit_links enable row level security`,
  );
  const [from, to] = [start.toISOString(), new Date(start.getTime() + 10_000).toISOString()];
  const response = await fetch(`${app.url}${organization}/export?from=${from}&to=${to}`, {
    headers: { authorization: `Bearer ${by.token}` },
  });
  expect(response.status).toBe(200);
  const parts: { text: string; at: number }[] = [];
  for await (const part of response.body ?? [])
    parts.push({ text: Buffer.from(part).toString(), at: performance.now() });
  const [first, last] = [parts[0], parts.at(-1)];
  expect(first?.text.match(/"ip_address"/gu)).toHaveLength(9);
  expect((last?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(SLOW_MS / 2);
  expect(JSON.parse(parts.map(({ text }) => text).join(""))).toMatchObject({
    total: 10,
    head: { sequence: expect.any(Number) },
  });
});
