import { afterAll, beforeAll, expect, test } from "vitest";
import { createLog } from "../../src/platform/log.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { runSql } from "../support/postgres.ts";

const logged: Record<string, unknown>[] = [];
let app: TestApp;
beforeAll(async () => {
  const destination = { write: (line: string) => void logged.push(JSON.parse(line) as Record<string, unknown>) };
  app = await startApp({ log: createLog({ level: "warn", destination }) });
});
afterAll(() => app.close());

test("changes that streams of deliveries cannot read, although the database responds, are logged", async () => {
  const token = await app.login();
  const body = { url: "https://hooks.test/", events: ["role.updated"] };
  const { webhook_id } = (await app.call("POST", "/api/v2/webhooks", { token, body })).body;
  const stop = new AbortController();
  const stream = await fetch(`${app.url}/api/v2/webhooks/${webhook_id}/deliveries/watch`, {
    headers: { authorization: `Bearer ${token}` },
    signal: stop.signal,
  });
  expect(stream.status).toBe(200);
  await runSql(app.databaseUrl, "alter table webhook_changes rename to webhook_changes_away");
  await expect
    .poll(() => logged)
    .toContainEqual(expect.objectContaining({ msg: "The changes of watched webhooks could not be read" }));
  stop.abort();
});
