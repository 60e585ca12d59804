import { afterAll, beforeAll, expect, it } from "vitest";
import { publishApp, signIn } from "../matrix/world.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { watchDeadlocks } from "../support/deadlocks.ts";
import { sendInTurn } from "../support/holding.ts";
import { elevated, founder, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

const { log, deadlocks } = watchDeadlocks();
let app: TestApp;
let second: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" }, log });
  second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock, log });
});
afterAll(async () => {
  await second.close();
  await app.close();
});

type Write = [method: string, path: string, body?: unknown];

async function done(who: Somebody, ...[method, path, body]: Write): Promise<Record<string, string>> {
  const answer = await app.call(method, path, { token: who.token, body });
  if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`);
  return answer.body as Record<string, string>;
}

/** Creates an object of an organization and returns a change of it that webhooks receive. */
const writes: Record<string, (who: Somebody) => Promise<Write>> = {
  async secret(who) {
    const path = `/api/admin/organizations/${who.org}/secrets/raced`;
    await done(who, "PUT", path, { value: "one" });
    return ["PUT", path, { value: "two" }];
  },
  async app(who) {
    const { appId } = await publishApp(app, who.token);
    return ["POST", `/api/marketplace/apps/${appId}/archive`];
  },
  async install(who) {
    const shop = await publishApp(app, (await founder(app)).token, await app.login());
    const { install_id } = await done(who, "POST", `/api/marketplace/${shop.slug}/install`, {});
    return ["DELETE", `/api/installs/${install_id}`];
  },
  async "service identity"(who) {
    const path = `/api/organizations/${who.org}/service-identities`;
    const { identity_id } = await done(who, "POST", path, { name: "raced", role_id: 3 });
    return ["PATCH", `${path}/${identity_id}`, { role_id: 4 }];
  },
  async "certificate authority"(who) {
    const path = `/api/admin/organizations/${who.org}/mtls-ca`;
    await done(who, "POST", path, { common_name: "Raced", key_algorithm: "ecdsa-p256" });
    return ["DELETE", path];
  },
};

it.each(Object.keys(writes))(
  "an organization ends concurrently with a change of its %s without a deadlock, and the change is refused",
  async (kind) => {
    const who = await founder(app);
    await done(who, "POST", "/api/v2/webhooks", { url: "https://hooks.example.test/in", events: ["*"] });
    const [method, path, body] = (await writes[kind]?.(who)) ?? ["", ""];
    const token = await elevated(app, who.token);
    const { sid } = await signIn(app, who);

    const [end, change] = await sendInTurn(
      app.databaseUrl,
      // The organization ends until it reaches the sessions of its members: this one is in use.
      ["select 1 from sessions where uuid = $1 for share", sid],
      () => app.call("DELETE", `/api/organizations/${who.org}`, { token }),
      () => second.call(method, path, { token: who.token, body }),
    );

    expect(outcome(end)).toBe("204");
    expect(outcome(change)).toMatch(/^(?:401 unauthorized|404 .*|409 .*)$/u);
    expect(deadlocks).toEqual([]);
    const left = `select 1 from vault_secrets where org_uuid = $1 and deleted_at is null
      union all select 1 from apps where org_uuid = $1 and status <> 'archived'
      union all select 1 from installs where org_uuid = $1 and status not in ('deprovisioning', 'deprovisioned')
      union all select 1 from mtls_cas where org_uuid = $1 and deleted_at is null
      union all select 1 from service_identities where org_uuid = $1 and deleted_at is null`;
    expect(await runSql(app.databaseUrl, left, [who.org])).toEqual([]);
  },
);
