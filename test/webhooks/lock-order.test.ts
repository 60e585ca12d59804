import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { watchDeadlocks } from "../support/deadlocks.ts";
import { sendInTurn } from "../support/holding.ts";
import { elevated, founder, member, outcome } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

/** Id of the fixed role `admin`. */
const ADMIN = 1;

const { log, deadlocks } = watchDeadlocks();
let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" }, log });
});
afterAll(() => app.close());

test("an admin repeats a delivery while they lose their role, of which the webhook hears, without a deadlock", async () => {
  const owner = await founder(app);
  const admin = await member(app, owner, ADMIN);
  const { body: webhook } = await app.call("POST", "/api/v2/webhooks", {
    token: owner.token,
    body: { url: "https://hooks.example.test/in", events: ["*"] },
  });
  const path = `/api/v2/webhooks/${webhook.webhook_id as string}`;
  const { body: sent } = await app.call("POST", `${path}/test`, { token: owner.token });
  const deliveryId = sent.delivery_id as string;
  await runSql(app.databaseUrl, "update webhook_deliveries set status = 'failed' where delivery_id = $1", [deliveryId]);

  const demotion = { token: owner.token, body: { role: "employee" } };
  const answers = await sendInTurn(
    app.databaseUrl,
    ["select 1 from webhook_deliveries where delivery_id = $1 for update", deliveryId],
    () => app.call("POST", `${path}/deliveries/${deliveryId}/redeliver`, { token: admin.token }),
    () => app.call("PUT", `/api/users/${admin.userUuid}/role`, demotion),
  );

  expect(answers.map(outcome)).toEqual(["202", "200"]);
  expect(deadlocks).toEqual([]);
});

test("an owner tests a webhook while they delete the organization, without a deadlock", async () => {
  const { org, token } = await founder(app);
  const { body: webhook } = await app.call("POST", "/api/v2/webhooks", {
    token,
    body: { url: "https://hooks.example.test/in", events: ["*"] },
  });
  const owner = await elevated(app, token);

  const answers = await sendInTurn(
    app.databaseUrl,
    // The deletion has locked the webhook by then, and comes to the owner.
    ["lock table webhook_deliveries in share mode"],
    () => app.call("DELETE", `/api/organizations/${org}`, { token: owner }),
    () => app.call("POST", `/api/v2/webhooks/${webhook.webhook_id as string}/test`, { token }),
  );

  expect(answers.map(outcome)).toEqual(["204", "401 unauthorized"]);
  expect(deadlocks).toEqual([]);
});
