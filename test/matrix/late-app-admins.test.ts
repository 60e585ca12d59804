import { randomBytes } from "node:crypto";
import type pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TestApp } from "../support/app.ts";
import { founder, member } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { openRaces } from "./race.ts";
import type { Races } from "./race.ts";
import { guardedRoutes } from "./rules.ts";
import { done, platformAdmin, publishApp, signIn, startMatrixApp } from "./world.ts";

let app: TestApp;
let races: Races;
beforeAll(async () => {
  app = await startMatrixApp();
  races = await openRaces(app.databaseUrl);
});
afterAll(async () => {
  await races.close();
  await app.close();
});

const some = (): string => randomBytes(5).toString("hex");

/** An app with an install and a webhook, and an administrator by grant alone. */
interface Shop {
  appId: string;
  owner: Somebody;
  admin: Somebody;
  /** Another member, who is made an administrator. */
  other: string;
  install: string;
  webhook: string;
  delivery: string;
}

async function shop(): Promise<Shop> {
  const owner = await founder(app);
  const { appId, slug } = await publishApp(app, owner.token, (await platformAdmin(app)).token);
  const [admin, other] = [await member(app, owner), await member(app, owner)];
  done(
    await app.call("POST", `/api/marketplace/apps/${appId}/admins`, {
      token: owner.token,
      body: { user_uuid: admin.userUuid },
    }),
  );
  // The undone state equals the state before.
  await runSql(
    app.databaseUrl,
    `update app_admins set grant_id = app_id, granted_by = user_uuid, created_at = '2020-01-01'
     where app_id = $1 and user_uuid = $2`,
    [appId, admin.userUuid],
  );
  admin.token = (await signIn(app, admin)).token;
  const buyer = await founder(app);
  const install =
    done(await app.call("POST", `/api/marketplace/${slug}/install`, { token: buyer.token, body: {} }))["install_id"] ??
    "";
  const body = { url: "https://hooks.example.test/app", events: ["*"], scope: "app", app_id: appId };
  const webhook = done(await app.call("POST", "/api/v2/webhooks", { token: admin.token, body }))["webhook_id"] ?? "";
  const delivery =
    done(await app.call("POST", `/api/v2/webhooks/${webhook}/test`, { token: admin.token }))["delivery_id"] ?? "";
  return { appId, owner, admin, other: other.userUuid, install, webhook, delivery };
}

interface Request {
  path: string;
  body?: unknown;
  /** Puts the object into the state that the request changes. */
  before?: string;
}

const of = ({ appId }: Shop): string => `/api/marketplace/apps/${appId}`;
const hooks = "/api/v2/webhooks";
const status = (install: string, is: string): string =>
  `update installs set status = '${is}' where install_id = '${install}'`;

/** Every write an administrator of an app may do, in an order in which all can succeed. */
const writes: Readonly<Record<string, (on: Shop) => Request>> = {
  "PATCH /api/marketplace/apps/{app_id}": (on) => ({ path: of(on), body: { description: some() } }),
  "POST /api/marketplace/apps/{app_id}/webhook/rotate": (on) => ({ path: `${of(on)}/webhook/rotate` }),
  "POST /api/marketplace/apps/{app_id}/listings": (on) => ({
    path: `${of(on)}/listings`,
    body: { marketplace: "aws", external_product_id: some() },
  }),
  "POST /api/marketplace/apps/{app_id}/admins": (on) => ({ path: `${of(on)}/admins`, body: { user_uuid: on.other } }),
  "DELETE /api/marketplace/apps/{app_id}/admins/{user_uuid}": (on) => ({ path: `${of(on)}/admins/${on.other}` }),
  "POST /api/marketplace/apps/{app_id}/installs/{install_id}/suspend": (on) => ({
    path: `${of(on)}/installs/${on.install}/suspend`,
    before: status(on.install, "active"),
  }),
  "POST /api/marketplace/apps/{app_id}/installs/{install_id}/resume": (on) => ({
    path: `${of(on)}/installs/${on.install}/resume`,
    before: status(on.install, "suspended"),
  }),
  "POST /api/v2/webhooks": (on) => ({
    path: hooks,
    body: { url: "https://hooks.example.test/late", events: ["*"], scope: "app", app_id: on.appId },
  }),
  "PATCH /api/v2/webhooks/{webhook_id}": (on) => ({
    path: `${hooks}/${on.webhook}`,
    body: { url: `https://hooks.example.test/${some()}` },
  }),
  "POST /api/webhooks/{webhook_id}/rotate-secret": (on) => ({ path: `/api/webhooks/${on.webhook}/rotate-secret` }),
  "POST /api/v2/webhooks/{webhook_id}/test": (on) => ({ path: `${hooks}/${on.webhook}/test` }),
  "POST /api/v2/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver": (on) => ({
    path: `${hooks}/${on.webhook}/deliveries/${on.delivery}/redeliver`,
    before: `update webhook_deliveries set status = 'delivered', next_attempt_at = null
      where delivery_id = '${on.delivery}'`,
  }),
  "DELETE /api/v2/webhooks/{webhook_id}": (on) => ({ path: `${hooks}/${on.webhook}` }),
  "POST /api/marketplace/apps/{app_id}/archive": (on) => ({ path: `${of(on)}/archive` }),
  // Invalidates the token it is sent with.
  "POST /api/marketplace/apps/{app_id}/signing-key/rotate": (on) => ({ path: `${of(on)}/signing-key/rotate` }),
};

const grant = "app_id = $1 and user_uuid = $2";
const ends: Readonly<Record<string, { sql: readonly string[]; undo: string }>> = {
  "an administrator's grant is revoked": {
    sql: [
      "select 1 from apps where app_id = $1 and $2::uuid is not null for update",
      `delete from app_admins where ${grant}`,
    ],
    undo: `insert into app_admins (grant_id, app_id, user_uuid, granted_by, created_at)
      values ($1, $1, $2, $2, '2020-01-01')`,
  },
  "the app's key is rotated": {
    sql: ["update apps set key_rotated_at = '2999-01-01' where app_id = $1 and $2::uuid is not null"],
    undo: "update apps set key_rotated_at = null where app_id = $1 and $2::uuid is not null",
  },
};

it("every writing route of app administrators is raced against the end of their permission", () => {
  const routes = guardedRoutes()
    .filter(({ words }) => /app.?admin/u.test([...words].join(" ")))
    .map(({ route }) => `${route.method} ${route.path}`);
  expect(routes.length).toBeGreaterThan(10);
  expect(routes.filter((name) => !name.startsWith("GET ") && writes[name] === undefined)).toEqual([]);
});

it("an owner can suspend and test an app with a token from before the rotation of its key", async () => {
  const on = await shop();
  done(await app.call("POST", `${of(on)}/signing-key/rotate`, { token: on.owner.token }));
  await runSql(app.databaseUrl, status(on.install, "active"));
  const answers = await Promise.all(
    [`${of(on)}/installs/${on.install}/suspend`, `${hooks}/${on.webhook}/test`].map((path) =>
      app.call("POST", path, { token: on.owner.token }),
    ),
  );
  expect(answers.map((answer) => answer.status)).toEqual([200, 202]);
});

it.each(Object.keys(ends))(
  "a writing route of app administrators returns 401 and commits nothing when %s during the request",
  async (what) => {
    const { sql, undo } = ends[what] as { sql: readonly string[]; undo: string };
    const on = await shop();
    const params = [on.appId, on.admin.userUuid];
    const ending = {
      end: async (client: pg.Client) => {
        for (const text of sql) await client.query(text, params);
      },
      undo: async () => void (await races.watch.query(undo, params)),
    };
    const faults: string[] = [];
    for (const [name, request] of Object.entries(writes)) {
      const { path, body, before } = request(on);
      if (before !== undefined) await runSql(app.databaseUrl, before);
      const send = () =>
        app.call(name.split(" ")[0] ?? "", path, { token: on.admin.token, ...(body === undefined ? {} : { body }) });
      const fault = await races.raced(ending, send);
      if (fault !== undefined) faults.push(`${name} ${fault}`);
      const control = await send();
      if (control.status >= 300) faults.push(`${name}, undisturbed, answered ${control.status}: ${control.text}`);
    }
    expect(faults).toEqual([]);
  },
);
