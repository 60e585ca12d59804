import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listenToStatements } from "../lists/statements.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, member } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

/** More than two batches of a search. */
const EVENTS = 25_000;
/** How many events share a time, so that batches end between them. */
const AT_ONCE = 7;

type Event = {
  event_id: string;
  is_auth: boolean;
  outcome: string;
  ip_address: string;
  user_agent: string;
  email: string | null;
};

const statements = listenToStatements();
let app: TestApp;
let by: Somebody;
/** Admins: 60 audit queries a minute are one's. */
let admins: Somebody[];
/** Newest first. */
let log: Event[];
beforeAll(async () => {
  app = await startApp();
  by = await founder(app);
  admins = [await member(app, by, 1), await member(app, by, 1), await member(app, by, 1)];
  await runSql(
    app.databaseUrl,
    `insert into audit_events (event_id, type, is_auth, outcome, org_uuid, ip_address, user_agent, actor, created_at)
     select gen_random_uuid(), case when n % 3 = 0 then 'role.updated' else 'login.password' end, n % 3 > 0,
       case when n % 10 = 0 then 'failure' else 'success' end, $1,
       case when n % 2500 < 2 then '2001:db8::1' else '192.0.2.7' end,
       case when n in (0, 1, 9999, 10000, 10001, 19999, 20000, 20001, $2 - 1) then 'Rare Browser' else 'browser' end,
       case when n % 400 = 0 then '{"type": "user", "id": "someone", "email": "Rare@corp.test"}'::jsonb end,
       now() - interval '1 day' - n / ${AT_ONCE} * interval '1 second'
     from generate_series(0, $2 - 1) n`,
    [by.org, EVENTS],
  );
  log = await runSql<Event>(
    app.databaseUrl,
    `select event_id, is_auth, outcome, ip_address, user_agent, actor ->> 'email' as email
     from audit_events where org_uuid = $1 order by created_at desc, sequence desc`,
    [by.org],
  );
});
afterAll(() => app.close());

const searches: Record<string, (event: Event) => boolean> = {
  "q=rare%20BROWSER": ({ user_agent }) => user_agent === "Rare Browser",
  "q=browser": ({ user_agent }) => /browser/iu.test(user_agent),
  "q=nothing": () => false,
  "ip_address=2001:DB8::1": ({ ip_address }) => ip_address === "2001:db8::1",
  "actor=rare@CORP.test": ({ email }) => email === "Rare@corp.test",
  "actor=rare@corp.test&q=browser&outcome=failure": ({ email, outcome, user_agent }) =>
    email === "Rare@corp.test" && outcome === "failure" && /browser/iu.test(user_agent),
};
const lists: Record<string, (event: Event) => boolean> = {
  "/api/organizations/{org}/audit-events": () => true,
  "/api/admin/organizations/{org}/auth-events": ({ is_auth }) => is_auth,
};
const get = async (list: string, query: string, token: string) => {
  const { status, body } = await app.call("GET", `${list.replace("{org}", by.org)}?${query}`, { token });
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
};
const idsOf = ({ data }: { data: { event_id: string }[] }) => data.map(({ event_id }) => event_id);
const totalOf = (found: number) => (found > 10_000 ? { total: 10_001, total_is_estimate: true } : { total: found });

describe.each(Object.entries(lists))("a search of %s", (list, isListed) => {
  it.each(Object.entries(searches))("for %s finds what is in a log of several batches", async (search, isFound) => {
    const found = log.filter((event) => isListed(event) && isFound(event)).map(({ event_id }) => event_id);
    for (const [sort, order, { token }] of [
      ["-created_at", found, admins[0] as Somebody],
      ["created_at", found.toReversed(), admins[1] as Somebody],
    ] as const) {
      for (const [limit, offset] of [
        [3, 0],
        [3, 4],
        [200, 0],
        [200, 9_990],
      ] as const) {
        const body = await get(list, `${search}&sort=${sort}&limit=${limit}&offset=${offset}`, token);
        expect(idsOf(body)).toEqual(order.slice(offset, offset + limit));
        expect(body).toMatchObject(totalOf(found.length));
      }
    }
  });
});

describe("a search by cursor", () => {
  const list = "/api/organizations/{org}/audit-events";

  it.each([
    ["q=rare%20browser&limit=2", 5],
    ["actor=rare@corp.test&limit=25&sort=created_at", 3],
  ])("for %s visits every event once, in %i pages", async (query, pages) => {
    const token = (admins[2] as Somebody).token;
    const isFound = Object.values(searches)[query.startsWith("q") ? 0 : 4] as (event: Event) => boolean;
    const found = log.filter(isFound).map(({ event_id }) => event_id);
    const seen: string[] = [];
    let read = 0;
    for (let cursor: string | undefined = ""; cursor !== undefined; read++) {
      const body = await get(list, `${query}&cursor=${cursor}`, token);
      expect(body).toMatchObject({ total: found.length });
      seen.push(...idsOf(body));
      cursor = body.next_cursor;
    }
    expect(seen).toEqual(query.endsWith("sort=created_at") ? found.toReversed() : found);
    expect(read).toBe(pages);
  });

  it("goes on behind what is counted exactly, without reading what is between", async () => {
    app.clock.advance(61_000);
    const { token } = admins[2] as Somebody;
    const found = log.filter(searches["q=browser"] as (event: Event) => boolean).map(({ event_id }) => event_id);
    const pages = 56;
    let cursor = "";
    for (let page = 1; page <= pages; page++) {
      statements.take();
      const body = await get(list, `q=browser&limit=200&cursor=${cursor}`, token);
      expect(body).toMatchObject(totalOf(found.length));
      if (page > 49) expect(idsOf(body)).toEqual(found.slice((page - 1) * 200, page * 200));
      cursor = body.next_cursor as string;
    }
    expect(statements.take().filter(({ text }) => text.includes("with batch as"))).toHaveLength(2);
  });
});
