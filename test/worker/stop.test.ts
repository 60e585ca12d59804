import { expect, test } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

test("a process that stops takes on no background work while an open stream keeps it", async () => {
  const home = await startApp();
  const app = await startApp({
    role: "all",
    databaseUrl: home.databaseUrl,
    temporal: { address: "127.0.0.1:1", namespace: "none" },
    clock: systemClock,
    env: { SERVICE_OPEN_SIGNUP: "1" },
  });
  try {
    const owner = await founder(app);
    const hook = await app.call("POST", "/api/v2/webhooks", {
      token: owner.token,
      body: { url: "http://127.0.0.1:9/", events: ["*"] },
    });
    const stream = await fetch(`${app.url}/api/v2/webhooks/${hook.body.webhook_id}/deliveries/watch`, {
      headers: { authorization: `Bearer ${owner.token}` },
    });
    expect(stream.status).toBe(200);
    await expect.poll(() => runSql(home.databaseUrl, "select id from outbox where topic like 'mail.%'")).toEqual([]);
    const closed = app.close();
    await new Promise((resolve) => setTimeout(resolve, 300));
    await runSql(
      home.databaseUrl,
      "insert into outbox (topic, payload, created_at, available_at) values ('mail.send', '{}', now(), now())",
    );
    await closed;
    expect(await runSql(home.databaseUrl, "select attempts from outbox where topic like 'mail.%'")).toEqual([
      { attempts: 0 },
    ]);
    await stream.body?.cancel().catch(() => undefined);
  } finally {
    await home.close();
  }
});
