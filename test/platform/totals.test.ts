import { afterAll, beforeAll, expect, it } from "vitest";
import { rpcs } from "../shape/contract-routes.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

const MAX_EXACT = 10_000;
let app: TestApp;
let owner: Somebody;
let other: Somebody;
let webhookId: string;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  [owner, other] = [await founder(app), await founder(app)];
  const body = { url: "https://example.com/hook", events: ["user.created"] };
  webhookId = (await app.call("POST", "/api/v2/webhooks", { token: owner.token, body })).body.webhook_id as string;
});
afterAll(() => app.close());

const numbers = "generate_series(1, $1::int)";
const session = `insert into sessions (
    uuid, user_uuid, org_uuid, device_uuid, amr, auth_time, created_at, last_seen_at, ip_address, user_agent,
    expires_at)
  select gen_random_uuid(), s.user_uuid, s.org_uuid, gen_random_uuid(), '{pwd}', s.auth_time, s.created_at,
    s.last_seen_at, '', '', s.expires_at
  from ${numbers}, (select * from sessions where user_uuid = $2 limit 1) s`;
const delivery = `with events as (
    insert into webhook_events (event_id, type, body, created_at)
    select 'evt_' || gen_random_uuid(), 'user.created', '{}', now() from ${numbers} returning event_id, created_at)
  insert into webhook_deliveries (delivery_id, event_id, webhook_id, status, queue, created_at)
  select gen_random_uuid(), event_id, $2, 'delivered', 'first', created_at from events`;
const invitation = `insert into invitations
    (uuid, token_hash, org_uuid, email, email_key, role_id, created_at, expires_at)
  select gen_random_uuid(), sha256(gen_random_uuid()::text::bytea), $2, n || '@people.test', gen_random_uuid(), 3,
    now(), now()
  from ${numbers} n`;
const apiKey = `insert into api_keys
    (key_id, org_uuid, name, hash, prefix, last4, scopes, made_by, created_at, expires_at)
  select gen_random_uuid(), o.uuid, 'key', '', '', '', '{}', p.uuid, now(), now()
  from ${numbers}, (select uuid from organizations where uuid = $2) o, (select uuid from people limit 1) p`;
const scimToken = `insert into scim_tokens (token_id, org_uuid, name, hash, created_at, expires_at)
  select gen_random_uuid(), $2, 'token', '', now(), now() from ${numbers}`;

it.each([
  ["deliveries", () => `/api/v2/webhooks/${webhookId}/deliveries`, delivery, () => webhookId],
  ["invitations", () => `/api/admin/organizations/${owner.org}/invitations`, invitation, () => owner.org],
  ["API keys", () => `/api/admin/organizations/${owner.org}/api-keys`, apiKey, () => owner.org],
  ["SCIM tokens", () => `/api/admin/organizations/${owner.org}/scim-tokens`, scimToken, () => owner.org],
  ["one's own sessions", () => "/api/auth/sessions", session, () => owner.userUuid],
  [
    "sessions of an organization",
    () => `/api/organizations/${other.org}/session-inventory`,
    session,
    () => other.userUuid,
  ],
])("a list of %s counts exactly to 10,000 and marks a larger total as an estimate", async (_what, path, seed, of) => {
  const list = async (): Promise<Record<string, unknown>> => {
    const answer = await app.call("GET", `${path()}?limit=1`, {
      token: (path().includes(other.org) ? other : owner).token,
    });
    expect(answer.status, answer.text).toBe(200);
    return answer.body as Record<string, unknown>;
  };
  const before = (await list())["total"] as number;
  await runSql(app.databaseUrl, seed, [MAX_EXACT - before, of()]);
  expect(Object.entries(await list()).slice(1)).toEqual([
    ["total", MAX_EXACT],
    ["limit", 1],
    ["offset", 0],
  ]);
  await runSql(app.databaseUrl, seed, [1, of()]);
  const { total, total_is_estimate: isEstimate } = await list();
  expect(isEstimate).toBe(true);
  expect(total).toBeGreaterThan(MAX_EXACT);
});

it("every list with pages can mark its total as an estimate", () => {
  const paged = rpcs
    .map(({ output }) => output)
    .filter(({ field }) => field["total"] !== undefined && field["offset"] !== undefined);
  expect(paged.length).toBeGreaterThan(20);
  expect(paged.filter(({ field }) => field["totalIsEstimate"] === undefined).map(({ typeName }) => typeName)).toEqual(
    [],
  );
});
