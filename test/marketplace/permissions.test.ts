import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { founder, member, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { appPath, must, publish, refreshed } from "./stage.ts";
import type { PublishedApp } from "./stage.ts";

let app: TestApp;
let owner: Somebody;
let buyer: Somebody;
let candidate: Somebody;
let offered: PublishedApp;
let grantee: Somebody;
const tokens: Record<string, string> = {};
beforeAll(async () => {
  app = await startApp();
  [owner, buyer] = [await founder(app), await founder(app)];
  offered = await publish(app, owner.token, { deployment_modes: ["single_tenant"] }, await app.login());
  grantee = await member(app, owner);
  candidate = await member(app, owner);
  must(
    await app.call("POST", appPath(offered.appId, "/admins"), {
      token: owner.token,
      body: { user_uuid: grantee.userUuid },
    }),
  );
  tokens["app admin"] = await refreshed(app, grantee);
  tokens["organization owner"] = owner.token;
  tokens["platform admin"] = await app.login();
  tokens["outsider"] = (await founder(app)).token;
  tokens["colleague"] = (await member(app, owner)).token;
  tokens["admin of the organization"] = (await member(app, owner, 1)).token;
  tokens["buyer"] = buyer.token;
});
afterAll(() => app.close());

const app404 = "404 app_not_found";
const no = "403 forbidden";
const actors = [
  "app admin",
  "organization owner",
  "platform admin",
  "outsider",
  "colleague",
  "admin of the organization",
  "buyer",
] as const;
type Actor = (typeof actors)[number];

interface Action {
  name: string;
  /** `publishers`: the first row of the matrix of interface.md; `platform`: the second. */
  row: "publishers" | "platform";
  status: number;
  run(token: string, ids: { app: PublishedApp; install: string; target: string }): Promise<Answer>;
}

const post = (path: string, token: string, body: unknown = {}): Promise<Answer> =>
  app.call("POST", path, { token, body });
const actions: Action[] = [
  {
    name: "edit metadata",
    row: "publishers",
    status: 200,
    run: (token, { app: { appId } }) => app.call("PATCH", appPath(appId), { token, body: { description: "New" } }),
  },
  {
    name: "view installs",
    row: "publishers",
    status: 200,
    run: (token, { app: { appId } }) => app.call("GET", appPath(appId, "/installs"), { token }),
  },
  {
    name: "view an install",
    row: "publishers",
    status: 200,
    run: (token, { app: { appId }, install }) => app.call("GET", appPath(appId, `/installs/${install}`), { token }),
  },
  {
    name: "suspend an install",
    row: "publishers",
    status: 200,
    run: (token, { app: { appId }, install }) => post(appPath(appId, `/installs/${install}/suspend`), token),
  },
  {
    name: "resume an install",
    row: "publishers",
    status: 200,
    async run(token, { app: { appId }, install }) {
      await runSql(app.databaseUrl, "update installs set status = 'suspended', step = null where install_id = $1", [
        install,
      ]);
      return post(appPath(appId, `/installs/${install}/resume`), token);
    },
  },
  {
    name: "rotate the provision secret",
    row: "publishers",
    status: 200,
    run: (token, { app: { appId } }) => post(appPath(appId, "/webhook/rotate"), token),
  },
  {
    name: "make a listing",
    row: "publishers",
    status: 201,
    run: (token, { app: { appId } }) =>
      post(appPath(appId, "/listings"), token, { marketplace: "aws", external_product_id: randomUUID() }),
  },
  {
    name: "see listings",
    row: "publishers",
    status: 200,
    run: (token, { app: { appId } }) => app.call("GET", appPath(appId, "/listings"), { token }),
  },
  {
    name: "see administrators",
    row: "publishers",
    status: 200,
    run: (token, { app: { appId } }) => app.call("GET", appPath(appId, "/admins"), { token }),
  },
  {
    name: "grant app admin",
    row: "publishers",
    status: 201,
    async run(token, { app: { appId } }) {
      await app.call("DELETE", appPath(appId, `/admins/${candidate.userUuid}`), { token: owner.token });
      return post(appPath(appId, "/admins"), token, { user_uuid: candidate.userUuid });
    },
  },
  {
    name: "revoke app admin",
    row: "publishers",
    status: 204,
    async run(token, { app: { appId } }) {
      await post(appPath(appId, "/admins"), owner.token, { user_uuid: candidate.userUuid });
      return app.call("DELETE", appPath(appId, `/admins/${candidate.userUuid}`), { token });
    },
  },
  {
    name: "view installs of the platform",
    row: "platform",
    status: 200,
    run: (token) => app.call("GET", "/api/admin/marketplace/installs", { token }),
  },
  {
    name: "view apps of the platform",
    row: "platform",
    status: 200,
    run: (token) => app.call("GET", "/api/admin/marketplace/apps", { token }),
  },
  {
    name: "approve a publication",
    row: "platform",
    status: 200,
    run: async (token) => post(`/api/admin/marketplace/apps/${(await publish(app, owner.token)).appId}/approve`, token),
  },
  {
    name: "reject a publication",
    row: "platform",
    status: 200,
    run: async (token) => post(`/api/admin/marketplace/apps/${(await publish(app, owner.token)).appId}/reject`, token),
  },
  {
    name: "view cloud targets",
    row: "platform",
    status: 200,
    run: (token) => app.call("GET", "/api/admin/cloud-targets", { token }),
  },
  {
    name: "revoke a cloud target",
    row: "platform",
    status: 200,
    run: (token, { target }) => post(`/api/admin/cloud-targets/${target}/revoke`, token),
  },
];

/**
 * What the matrix owes; others are refused: members of the publishing organization as such, anybody else as for an
 * unknown app.
 */
function owed(action: Action, actor: Actor): string | number {
  if (action.row === "platform") return actor === "platform admin" ? action.status : no;
  if (actor === "app admin" || actor === "organization owner" || actor === "platform admin") return action.status;
  return actor === "colleague" || actor === "admin of the organization" ? no : app404;
}

/** An active install of the offered app with a cloud target. */
async function installed(): Promise<{ install: string; target: string }> {
  const { org, token } = await founder(app);
  const install = must(await post(`/api/marketplace/${offered.slug}/install`, token)).install_id as string;
  const target = randomUUID();
  await runSql(app.databaseUrl, "update installs set status = 'active', step = null where install_id = $1", [install]);
  await runSql(
    app.databaseUrl,
    "insert into cloud_targets (target_id, install_id, org_uuid, provider, region, status, created_at) values ($1, $2, $3, 'aws', 'eu-1', 'active', now())",
    [target, install, org],
  );
  return { install, target };
}

it.each(actions)("$name", async (action) => {
  const wrong: string[] = [];
  for (const actor of actors) {
    const answer = await action.run(tokens[actor] ?? "", { app: offered, ...(await installed()) });
    const is = answer.status < 300 ? answer.status : outcome(answer);
    if (is !== owed(action, actor)) wrong.push(`${actor}: ${is} instead of ${owed(action, actor)}`);
  }
  expect(wrong).toEqual([]);
});

it.each([
  ["GET", ""],
  ["POST", "/archive"],
  ["POST", "/signing-key/rotate"],
] as const)(
  "%s of an app%s is 403 for a member who does not administer it, and 404 for an unknown or a foreign app",
  async (method, rest) => {
    const path = rest === "" ? "/installs" : rest;
    const tries = async (token: string, appId: string): Promise<string> =>
      outcome(await app.call(method, appPath(appId, path), { token, ...(method === "POST" ? { body: "{" } : {}) }));
    expect(await tries(tokens["colleague"] ?? "", offered.appId.toUpperCase())).toBe(no);
    expect(await tries(tokens["outsider"] ?? "", offered.appId)).toBe(app404);
    expect(await tries(tokens["colleague"] ?? "", randomUUID())).toBe(app404);
    const { api_key: key } = must(
      await app.call("POST", `/api/admin/organizations/${owner.org}/api-keys`, {
        token: tokens["admin of the organization"],
        body: { name: "apps", scopes: ["write:apps", "read:apps"] },
      }),
    );
    expect([await tries(key, offered.appId), await tries(key, randomUUID())]).toEqual([no, app404]);
  },
);

it("an administrator of one app cannot change installs of another", async () => {
  const other = await publish(app, owner.token);
  const { install } = await installed();
  for (const [method, rest] of [
    ["GET", ""],
    ["POST", "/suspend"],
    ["POST", "/resume"],
  ] as const) {
    const answer = await app.call(method, appPath(other.appId, `/installs/${install}${rest}`), {
      token: owner.token,
      ...(method === "POST" ? { body: {} } : {}),
    });
    expect(outcome(answer)).toBe("404 install_not_found");
  }
});
