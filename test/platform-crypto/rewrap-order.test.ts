import { afterAll, beforeAll, expect, test } from "vitest";
import { SEALED_COLUMNS } from "../../src/app/rewrap.ts";
import { migrations } from "../../src/migrations/index.ts";
import { rewrapAll } from "../../src/platform/crypto/rewrap.ts";
import { createSealer } from "../../src/platform/crypto/sealed.ts";
import { openDatabase } from "../../src/platform/db/index.ts";
import type { OpenDatabase } from "../../src/platform/db/index.ts";
import { INSTANCE_KEY, startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { watchDeadlocks } from "../support/deadlocks.ts";
import { sendInTurn } from "../support/holding.ts";
import { elevated, founder } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

const { log, deadlocks } = watchDeadlocks();
let app: TestApp;
let database: OpenDatabase;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" }, log });
  const { databaseUrl: url, clock } = app;
  database = await openDatabase({ url, entities: [], migrations, clock, log });
});
afterAll(async () => {
  await database.close();
  await app.close();
});

test("an organization is deleted while its webhooks are moved to another key, without a deadlock", async () => {
  const { org, token } = await founder(app);
  const body = { url: "https://hooks.example.test/in", events: ["*"] };
  const ids: string[] = [];
  for (let made = 0; made < 2; made++)
    ids.push((await app.call("POST", "/api/v2/webhooks", { token, body })).body.webhook_id as string);
  // The deletion locks them in the order of their ids. In the table, the first of these comes last.
  const [first] = ids.toSorted();
  await runSql(app.databaseUrl, "update webhooks set updated_at = updated_at where webhook_id = $1", [first]);
  const owner = await elevated(app, token);
  const keys = { present: createSealer(Buffer.alloc(32, 5)), previous: createSealer(INSTANCE_KEY) };

  const [deleted, { isComplete }] = await sendInTurn(
    app.databaseUrl,
    ["select 1 from webhooks where webhook_id = $1 for update", first],
    () => app.call("DELETE", `/api/organizations/${org}`, { token: owner }),
    () =>
      rewrapAll({
        database: database.background,
        columns: SEALED_COLUMNS.filter(({ table }) => table === "webhooks"),
        keys: { instance: keys, master: undefined },
        onBatch: () => undefined,
        onColumn: () => undefined,
      }),
  );

  expect(deleted.status).toBe(204);
  expect(isComplete).toBe(true);
  expect(deadlocks).toEqual([]);
});
