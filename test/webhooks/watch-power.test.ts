import { afterAll, beforeAll, expect, test } from "vitest";
import { must, publish, refreshed } from "../marketplace/stage.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, member } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  owner = await founder(app);
});
afterAll(() => app.close());

const url = "http://127.0.0.1:9/";
const register = async (token: string, more: object = {}): Promise<string> =>
  must(await app.call("POST", "/api/v2/webhooks", { token, body: { url, events: ["*"], ...more } })).webhook_id;

/** Opens a stream of deliveries; resolves, once its head is there, to a function that waits for its last line. */
async function open(webhookId: string, token: string): Promise<() => Promise<unknown>> {
  const response = await fetch(`${app.url}/api/v2/webhooks/${webhookId}/deliveries/watch`, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(30_000),
  });
  expect(response.status).toBe(200);
  return async () => JSON.parse((await response.text()).trim().split("\n").at(-1) ?? "");
}

test("a stream of deliveries with an API key ends when the key's maker loses the role", async () => {
  const maker = await member(app, owner, 1);
  const { api_key: key } = must(
    await app.call("POST", `/api/admin/organizations/${owner.org}/api-keys`, {
      token: maker.token,
      body: { name: "watches", scopes: ["read:webhooks"] },
    }),
  );
  const end = await open(await register(owner.token), key);
  must(await app.call("PUT", `/api/users/${maker.userUuid}/role`, { token: owner.token, body: { role: "observer" } }));
  expect(await end()).toMatchObject({ error: { code: "forbidden", status: 403 } });
});

test("a stream of deliveries with an automation token ends when its identity loses the role", async () => {
  const base = `/api/organizations/${owner.org}/service-identities`;
  const { identity_id: id } = must(
    await app.call("POST", base, { token: owner.token, body: { name: "watcher", role_id: 1 } }),
  );
  const { token } = must(
    await app.call("POST", `${base}/automation-token`, {
      token: owner.token,
      body: { name: "watch", identity_id: id },
    }),
  );
  const end = await open(await register(owner.token), token);
  must(await app.call("PATCH", `${base}/${id}`, { token: owner.token, body: { role_id: 4 } }));
  expect(await end()).toMatchObject({ error: { code: "forbidden", status: 403 } });
});

test("a stream of an app's deliveries ends when the app's key is rotated, though its reader administers another app", async () => {
  const [first, second] = [await publish(app, owner.token), await publish(app, owner.token)];
  const someone = await member(app, owner);
  for (const { appId } of [first, second])
    must(
      await app.call("POST", `/api/marketplace/apps/${appId}/admins`, {
        token: owner.token,
        body: { user_uuid: someone.userUuid },
      }),
    );
  const token = await refreshed(app, someone);
  const end = await open(await register(token, { scope: "app", app_id: first.appId }), token);
  app.clock.advance(10);
  must(
    await app.call("POST", `/api/marketplace/apps/${first.appId}/signing-key/rotate`, { token: owner.token, body: {} }),
  );
  expect(await end()).toMatchObject({ error: { code: "not_found", status: 404 } });
});
