import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { signDelivery } from "../../src/platform/outgoing/signature.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { elevated, founder, outcome } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { temporalServer } from "../support/temporal.ts";
import { appPath, must, publish } from "./stage.ts";

/** More than two batches. */
const MANY = 230;

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ clock: systemClock });
});
afterAll(() => app.close());

/** Installs of as many copies of an app, each second one suspended. Their ids come before that of any real one. */
async function installCopies(installId: string): Promise<void> {
  await runSql(
    app.databaseUrl,
    `
    with copies as (select n, ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid as id from generate_series(1, ${MANY - 1}) n),
      slugs as (insert into app_slugs (slug) select 'copy-' || n from copies),
      made as (
        insert into apps (app_id, org_uuid, slug, name, description, deployment_modes, pricing_model, base_price_cents, currency, plans,
          provision_webhook, webhook_secret, status, created_by, key_id, created_at, updated_at, published_at)
        select c.id, org_uuid, 'copy-' || c.n, name, description, deployment_modes, pricing_model, base_price_cents, currency, plans,
          provision_webhook, webhook_secret, status, created_by, key_id, created_at, updated_at, published_at
        from apps, copies c where app_id = (select app_id from installs where install_id = $1))
    insert into installs (install_id, app_id, org_uuid, status, deployment_mode, plan_id, quantity, payment_source, sandbox, created_at, updated_at)
    select c.id, c.id, org_uuid, (array['active', 'suspended'])[1 + c.n % 2], deployment_mode, plan_id, quantity, payment_source, sandbox, created_at, updated_at
    from installs, copies c where install_id = $1`,
    [installId],
  );
}

const count = async (sql: string, ...values: unknown[]): Promise<number> =>
  (await runSql<{ n: number }>(app.databaseUrl, `select count(*)::int as n from ${sql}`, values))[0]?.n ?? 0;

it("deleting an organization with many installs deprovisions a batch at once and the others afterwards, unchangeable until then", async () => {
  const [platform, publisher, buyer] = [await app.login(), await founder(app), await founder(app)];
  const offered = await publish(app, publisher.token, {}, platform);
  const { install_id: last } = must(
    await app.call("POST", `/api/marketplace/${offered.slug}/install`, { token: buyer.token, body: {} }),
  );
  await installCopies(last);
  const live = "installs where org_uuid = $1 and status in ('provisioning', 'active', 'suspended')";
  const end = await app.call("DELETE", `/api/organizations/${buyer.org}`, { token: await elevated(app, buyer.token) });
  expect(end.status).toBe(204);
  expect(await count(live, buyer.org)).toBe(MANY - 100);

  // No worker runs: what is left waits, and cannot be used in the meantime.
  expect(outcome(await app.call("GET", "/api/installs", { token: buyer.token }))).toBe("401 unauthorized");
  const copy = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
  for (const [n, verb] of [
    [MANY - 2, "suspend"],
    [MANY - 1, "resume"],
    [MANY - 2, "resume"],
  ] as const) {
    const answer = await app.call("POST", appPath(copy(n), `/installs/${copy(n)}/${verb}`), {
      token: publisher.token,
      body: {},
    });
    expect(outcome(answer), `${verb} of ${n}`).toBe("409 invalid_transition");
  }
  const text = JSON.stringify({ status: "active" });
  const signed = signDelivery({
    id: "msg_late",
    timestamp: Math.floor(Date.now() / 1000),
    body: text,
    secrets: [offered.secret],
  });
  const report = await app.call("POST", `/api/marketplace/installs/${last}/provisioning`, {
    body: JSON.parse(text),
    headers: { ...signed },
  });
  expect(outcome(report)).toBe("409 invalid_transition");

  const worker = await startApp({
    role: "worker",
    databaseUrl: app.databaseUrl,
    temporal: await temporalServer(),
    clock: systemClock,
  });
  try {
    await expect.poll(() => count(live, buyer.org)).toBe(0);
    await expect.poll(() => count("outbox where topic = 'installs.left'")).toBe(0);
  } finally {
    await worker.close();
  }
  const event = "audit_events where type = 'install.deprovisioning' and org_uuid = $1";
  expect(await count(event, buyer.org)).toBe(MANY);
  // Each tells who ended the organization and from where, whichever transaction gave the install back.
  expect(
    await runSql(app.databaseUrl, `select distinct user_uuid, actor, ip_address, user_agent from ${event}`, [
      buyer.org,
    ]),
  ).toEqual([
    {
      user_uuid: buyer.userUuid,
      actor: { type: "user", id: buyer.userUuid, email: buyer.email },
      ip_address: "127.0.0.1",
      user_agent: "node",
    },
  ]);
});
