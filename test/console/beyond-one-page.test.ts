import { beforeAll, expect, it } from "vitest";
import { draftOf } from "../support/market.ts";
import { runSql } from "../support/postgres.ts";
import { describeInBrowser, surroundings } from "./browser.ts";

/** More than a list answers at once. */
const MANY = 205;

describeInBrowser("an organization with more roles and apps than a list answers at once", () => {
  const here = surroundings({ SERVICE_RATE_LIMITS: "off" }, "serve");
  let [appId, roleId] = ["", ""];

  beforeAll(async () => {
    const token = await here.app.login();
    const made = await here.app.call("POST", "/api/marketplace/apps", {
      token,
      body: draftOf("orbit", "https://orbit.example/provision"),
    });
    appId = made.body.app_id;
    await runSql(
      here.app.databaseUrl,
      `with made as (insert into app_slugs (slug) select 'copy-' || n from generate_series(1, $2::integer) n)
       insert into apps (app_id, org_uuid, slug, name, description, deployment_modes, pricing_model, base_price_cents,
         currency, plans, provision_webhook, webhook_secret, status, created_by, key_id, created_at, updated_at)
       select gen_random_uuid(), org_uuid, 'copy-' || n, 'Copy ' || n, description, deployment_modes, pricing_model,
         base_price_cents, currency, plans, provision_webhook, webhook_secret, 'archived', created_by, key_id,
         created_at + n * interval '1 second', updated_at from apps, generate_series(1, $2::integer) n
       where app_id = $1`,
      [appId, MANY],
    );
    await runSql(
      here.app.databaseUrl,
      `insert into roles (org_uuid, name, created_at)
       select uuid, 'team_' || n, now() + n * interval '1 second' from organizations, generate_series(1, $2::integer) n
       where name = $1`,
      [here.app.owner.org, MANY],
    );
    const last = await here.app.call("GET", `/api/roles?q=team_${MANY}`, { token });
    roleId = String(last.body.data[0].id);
  });

  it("the page of the last role shows it, and invitations, members and identities can have it", async () => {
    const name = `team_${MANY}`;
    const page = await here.at(`roles/${roleId}`);
    await page.getByRole("heading", { level: 1, name }).waitFor();
    for (const [path, button] of [
      ["members", "Invite"],
      ["identities", "Create service identity"],
    ] as const) {
      await page.goto(`${here.url}/console/${path}`);
      await page.getByRole("button", { name: button }).click();
      await page.getByRole("dialog").getByLabel("Role").selectOption({ label: name });
    }
  });

  it("the page of the oldest app shows it, its plans can be changed, and one of an unknown id leads back", async () => {
    const page = await here.at(`publish/${appId}?tab=plans`);
    await page.getByRole("heading", { level: 1, name: "Orbit" }).waitFor();
    await page.getByRole("button", { name: "Create plan" }).click();
    const plan = page.getByRole("dialog", { name: "Create plan" });
    await plan.getByLabel("Plan id").fill("plus");
    await plan.getByLabel("Name").fill("Plus");
    await plan.getByLabel("Price cents").fill("2900");
    await plan.getByRole("button", { name: "Create" }).click();
    await page.getByRole("cell", { name: "$29.00" }).waitFor();
    expect(await page.getByRole("table", { name: "Plans" }).getByRole("row").count()).toBe(3);
    await page.goto(`${here.url}/console/publish/${crypto.randomUUID()}`);
    await page.getByText("Your organization publishes no app with this id.").waitFor();
    await page.getByRole("link", { name: "Go to your apps" }).click();
    await page.getByRole("heading", { level: 1, name: "My apps" }).waitFor();
  });
});
