import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { composeAuditChain } from "./compose-chain.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

const sql = (text: string, params: unknown[] = []) => runSql(app.databaseUrl, text, params);

it("more chains than a run links, which stay pending, do not keep those behind them from being linked", async () => {
  const by = await founder(app);
  // These sort before those of the service, and none of them can be linked.
  const first = Array.from({ length: 401 }, (_, nth) => `00000000-0000-4000-8000-${String(nth).padStart(12, "0")}`);
  await sql(
    `with added as (
       insert into audit_events
         (event_id, type, is_auth, outcome, org_uuid, ip_address, user_agent, created_at)
       select gen_random_uuid(), 'role.assigned', false, 'success', org, '', '', now() from unnest($1::uuid[]) org
       returning sequence, org_uuid
     ) insert into audit_pending (org_key, event_sequence) select org_uuid, sequence from added`,
    [first],
  );
  await sql(`create function refused_link() returns trigger language plpgsql as $$ begin
    if new.org_key < '00000000-0000-4001-8000-000000000000' then raise exception 'refused'; end if;
    return new; end $$`);
  await sql("create trigger refused before insert on audit_links for each row execute function refused_link()");
  const pending = async (orgs: readonly string[]): Promise<number> =>
    (await sql("select 1 from audit_pending where org_key = any($1)", [orgs])).length;
  const { chain, close } = await composeAuditChain(app.databaseUrl, app.clock);
  chain.linker.poller.start();
  await expect.poll(() => pending([by.org])).toBe(0);
  expect(await pending(first)).toBe(401);
  await sql("drop trigger refused on audit_links");
  await expect.poll(() => pending(first)).toBe(0);
  await chain.linker.poller.drain(10_000);
  await close();
});
