import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { callRest } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { draftOf } from "../support/market.ts";
import { founder, member } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { rpcStates } from "../shape/built.ts";
import { addressed } from "./requests.ts";
import { guardedRoutes, expectedOutcome } from "./rules.ts";
import type { Credential } from "./send.ts";
import { bySvid, workload } from "./workloads.ts";
import { apiKey, automationToken, done, platformAdmin, populate, publishApp, signIn, startMatrixApp } from "./world.ts";

let app: TestApp;
let shop: string;
beforeAll(async () => {
  app = await startMatrixApp();
  const made = await publishApp(app, (await signIn(app, await founder(app))).token, (await platformAdmin(app)).token);
  shop = made.slug;
});
afterAll(() => app.close());

/** Reads first and deletions last, so that the objects exist. */
const order = ["GET", "POST", "PUT", "PATCH", "DELETE"];

interface Holder {
  make: (by: Pick<Somebody, "org" | "token">) => Promise<Credential>;
  /** Whether it administers the apps of its maker. */
  appAdmin: boolean;
  /** Routes that need a person behind the credential. */
  refused: readonly string[];
}

/** What belongs to a person, which a service identity is not. */
const OF_PERSONS = ["POST /api/billing/cards", "PUT /api/billing/cards/default", "DELETE /api/billing/cards/{card_id}"];

const holders: Readonly<Record<string, Holder>> = {
  "a key that has every scope": {
    make: async (by) => ({ token: (await apiKey(app, by, ["admin", "vault:write"])).key }),
    appAdmin: true,
    refused: [],
  },
  "an automation token of an identity with the role admin": {
    make: (by) => automationToken(app, by),
    appAdmin: false,
    refused: OF_PERSONS,
  },
  "an SVID of an identity with the role admin": {
    make: async (by) => bySvid(await workload(app, by)),
    appAdmin: false,
    refused: OF_PERSONS,
  },
};

it.each(Object.entries(holders))("every built route that accepts keys succeeds with %s", async (_name, holder) => {
  const side = await populate(app, shop);
  const key = await holder.make({ ...side.owner, token: side.token });
  const built = new Set(
    rpcStates()
      .filter((state) => state.built)
      .map(({ rpc }) => rpc),
  );
  const requests = new Map(
    addressed().requests.map((request) => [`${request.binding.method} ${request.binding.path}`, request]),
  );
  const bearer = {
    kind: "key",
    here: true,
    organization: true,
    admin: true,
    owner: false,
    appAdmin: holder.appAdmin,
    elevated: false,
    platform: false,
    vault: true,
    scopes: ["admin", "vault:write"],
  } as const;
  const open = guardedRoutes().filter(
    (one) =>
      built.has(one.binding.rpc) && expectedOutcome(one, bearer) === "passes" && one.binding.rpc.methodKind === "unary",
  );
  const refused: string[] = [];
  for (const { route } of open.toSorted(
    (one, other) => order.indexOf(one.route.method) - order.indexOf(other.route.method),
  )) {
    const name = `${route.method} ${route.path}`;
    const request = requests.get(name);
    const body =
      request?.body(side.ids) ??
      (name === "POST /api/marketplace/apps"
        ? draftOf(`made-by-${randomBytes(4).toString("hex")}`, "http://127.0.0.1:9/x")
        : route.method === "GET" || route.method === "DELETE"
          ? undefined
          : {});
    const { status, text } = await callRest(app.url, route.method, request?.path(side.ids) ?? route.path, {
      ...key,
      ...(body === undefined ? {} : { body }),
    });
    // The payment server knows no subscription that nobody bought there.
    const isUnknownThere = status === 502 && name === "DELETE /api/billing/subscriptions/{id}";
    const isExpected = isUnknownThere || (status === 403 && holder.refused.includes(name));
    if (!isExpected && (status === 401 || status === 403 || status >= 500)) refused.push(`${name}: ${status} ${text}`);
  }
  expect(refused).toEqual([]);
  expect(open.length).toBeGreaterThan(50);
});

it("an app published with a key is administered by the person who made the first key", async () => {
  const maker = await member(app, await founder(app), 1);
  const { key } = await apiKey(app, maker, ["admin"]);
  const child = await apiKey(app, { org: maker.org, token: key }, ["write:apps", "read:apps"]);
  const { appId } = await publishApp(app, child.key);
  const { token } = await signIn(app, maker);
  const admins = done(await app.call("GET", `/api/marketplace/apps/${appId}/admins`, { token })) as unknown as {
    data: { user_uuid: string; is_org_owner: boolean }[];
  };
  expect(admins.data.filter(({ is_org_owner: owner }) => !owner).map(({ user_uuid: uuid }) => uuid)).toEqual([
    maker.userUuid,
  ]);
  expect((await app.call("GET", `/api/marketplace/apps/${appId}/admins`, { token: child.key })).status).toBe(200);
});

it("an app that a service identity publishes is administered by the owners of its organization", async () => {
  const owner = await founder(app);
  for (const role of [1, 3]) {
    const held = bySvid(await workload(app, owner, role));
    const slug = `by-workload-${randomBytes(4).toString("hex")}`;
    const draft = { ...held, body: draftOf(slug, "http://127.0.0.1:9/x") };
    const { app_id: appId = "" } = done(await callRest(app.url, "POST", "/api/marketplace/apps", draft));
    const admins = `/api/marketplace/apps/${appId}/admins`;
    expect((await callRest(app.url, "GET", admins, held)).status).toBe(403);
    const listed = await app.call("GET", admins, { token: owner.token });
    expect(listed.body.data).toMatchObject([{ user_uuid: owner.userUuid, is_org_owner: true, granted_at: null }]);
  }
});

it("an administrator of an app may manage its webhooks from the response that created it on", async () => {
  const employee = await member(app, await founder(app), 3);
  const webhooks = (method: string, body?: unknown) =>
    app.call(method, "/api/v2/webhooks", { token: employee.token, ...(body === undefined ? {} : { body }) });
  const wish = { url: "https://hooks.example.test/in", events: ["app.published"] };
  expect([(await webhooks("POST", wish)).status, (await webhooks("GET")).status]).toEqual([403, 403]);
  const { appId } = await publishApp(app, employee.token);
  const made = await webhooks("POST", { ...wish, scope: "app", app_id: appId });
  const listed = await webhooks("GET");
  expect([made.status, listed.status, listed.body.total, (await webhooks("POST", wish)).status]).toEqual([
    201, 200, 1, 403,
  ]);
});
