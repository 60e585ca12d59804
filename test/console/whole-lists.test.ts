import { beforeAll, expect, it } from "vitest";
import { runSql } from "../support/postgres.ts";
import { describeInBrowser, surroundings } from "./browser.ts";

/** More rows than one page of a list has. */
const MANY = 205;

describeInBrowser("what the service lists after more than it answers at once", () => {
  const here = surroundings({ SERVICE_RATE_LIMITS: "off" }, "serve");
  let [orgUuid, lastOrg, identityId, templateId] = ["", "", "", ""];

  /** Inserts MANY rows that the list shows before the one that the tests look for. */
  const fill = (sql: string): Promise<unknown> =>
    runSql(here.app.databaseUrl, sql.replaceAll("$many", `generate_series(1, ${MANY}) n`), [orgUuid]);

  beforeAll(async () => {
    const token = await here.app.login();
    const made = async (method: string, path: string, body: unknown) => {
      const answer = await here.app.call(method, path, { token, body });
      expect(answer.status, answer.text).toBeLessThan(300);
      return answer.body;
    };
    orgUuid = (await here.app.call("GET", "/api/auth/me", { token })).body.org_uuid as string;
    const ofOrganization = `/api/organizations/${orgUuid}`;
    lastOrg = (await made("POST", "/api/organizations", { name: "Zenith" })).org_uuid as string;
    const identity = await made("POST", `${ofOrganization}/service-identities`, { name: "oldest", role_id: 2 });
    identityId = identity.identity_id as string;
    const bearer = { name: "nightly", identity_id: identityId, expires_in: 3600 };
    await made("POST", `${ofOrganization}/service-identities/automation-token`, bearer);
    await made("PUT", `/api/admin${ofOrganization.slice(4)}/secrets/token`, { value: "x", tags: ["production"] });
    await made("POST", "/api/ops/custom-variables", { key: "zone", value: "north" });
    const template = { name: "Letter", category: "report", variables: [], body: "<p>{{zone}}</p>" };
    templateId = (await made("POST", "/api/templates", template)).id as string;
    const price = { product: "Oldest", interval: "month", currency: "usd", unit_amount_cents: 1_000 };
    await made("POST", "/api/admin/pricing/prices", price);
    await fill(`with made as (
        insert into organizations (uuid, name, created_at, updated_at)
        select gen_random_uuid(), 'Annex ' || n, now(), now() from $many returning uuid)
      insert into memberships (org_uuid, user_uuid, email_key, role_id, created_at, updated_at)
      select made.uuid, m.user_uuid, m.email_key, 1, now(), now() from made, memberships m where m.org_uuid = $1`);
    await fill(`insert into service_identities (identity_id, org_uuid, name, role_id, created_at, updated_at)
      select gen_random_uuid(), $1, 'robot ' || n, 3, now() + n * interval '1 second', now() from $many`);
    await fill(`insert into automation_tokens (token_id, identity_id, org_uuid, name, hash, created_at, expires_at)
      select gen_random_uuid(), identity_id, $1, 'later ' || n, sha256(n::text::bytea),
        now() + n * interval '1 second', expires_at
      from automation_tokens, $many where org_uuid = $1`);
    await fill(`insert into vault_secrets (org_uuid, name, version, first_version, written_at, tags)
      select $1, 'app' || n || '.token', 1, 1, now(), '{}' from $many`);
    await fill(`insert into custom_variables (org_uuid, key, value, created_at)
      select $1, 'city_' || n, 'x', now() + n * interval '1 second' from $many`);
    await fill(`insert into prices (product, interval, currency, unit_amount_cents, regions, created_at)
      select 'Later ' || n, interval, currency, unit_amount_cents, regions, now() + n * interval '1 second'
      from prices, $many where product = 'Oldest' and $1::uuid is not null`);
    await fill(`with made as (
        insert into people (uuid, email, email_key, created_at, updated_at)
        select gen_random_uuid(), name, name, now(), now() from (
          select n::numeric as at, (array['a', 'x'])[n % 2 + 1] || n || '.bo@acme.test' as name from $many
          union all select ${MANY} / 2.0, 'bo@acme.test') names
        order by at returning uuid, email_key)
      insert into memberships (org_uuid, user_uuid, email_key, role_id, created_at, updated_at)
      select $1, uuid, email_key, 3, now(), now() from made`);
    await fill(`with made as (
        insert into quotes (quote_id, org_uuid, price_id, seats, currency, region, unit_amount_cents, subtotal_cents,
          tax_cents, total_cents, issued_by, issued_at, expires_at)
        select gen_random_uuid(), $1, price_id, 1, 'usd', 'default', 1000, 1000, 0, 1000, 'test', created_at, now()
        from prices returning *)
      insert into subscriptions (subscription_id, org_uuid, quote_id, provider, external_id, price_id, seats, status,
        cancel_at_period_end, created_at)
      select gen_random_uuid(), $1, quote_id, 'stripe', quote_id, price_id, 1, 'active', false, issued_at from made`);
  });

  it("a person reaches each of their organizations, by the menu, by a link, and on the profile", async () => {
    const page = await here.at("me");
    await page.getByRole("table", { name: "Memberships" }).getByRole("cell", { name: "Zenith" }).waitFor();
    await page.getByRole("button", { name: "Organization: Acme" }).click();
    await page.getByRole("menuitem", { name: /^Zenith/u }).waitFor();
    await page.goto(`${here.url}/console/members?org=${lastOrg}`);
    await page.getByRole("dialog", { name: "Switch to Zenith?" }).waitFor();
  });

  it("the token of the oldest identity names it and its role, and another can be made for it", async () => {
    const page = await here.at("delegated?q=nightly");
    const row = page.getByRole("row").filter({ hasText: "nightly" });
    await row.getByRole("link", { name: "oldest" }).waitFor();
    await row.getByRole("cell", { name: "Manager" }).waitFor();
    await page.getByRole("button", { name: "Create automation token" }).click();
    await page.getByRole("dialog").getByLabel("Identity").selectOption({ label: "oldest" });
    await page.goto(`${here.url}/console/identities/${identityId}`);
    await page.getByRole("table", { name: "Automation tokens" }).getByRole("cell", { name: "nightly" }).waitFor();
  });

  it("a role is simulated for a member whose address many others contain", async () => {
    const page = await here.at("roles");
    await page.getByRole("button", { name: "Simulate" }).click();
    const dialog = page.getByRole("dialog", { name: "Simulate" });
    await dialog.getByRole("combobox", { name: "Member" }).fill(" Bo@Acme.test ");
    await dialog.getByText("Now: Employee").waitFor();
  });

  it("the tags of a secret are shown, and changed, whose name many others contain", async () => {
    const page = await here.at("vault/token");
    await page.getByRole("definition").filter({ hasText: "production" }).waitFor();
    await page.getByRole("button", { name: "New version" }).click();
    expect(await page.getByRole("dialog").getByLabel("Tags").inputValue()).toBe("production");
  });

  it("a template is filled by every variable, and none of them is said to be missing", async () => {
    const page = await here.at(`templates/${templateId}`);
    await page.getByText("Filled by the variable of this name.").waitFor();
    expect(await page.getByText("Without a value:", { exact: false }).count()).toBe(0);
  });

  it("what was offered and bought first can be quoted, and cancelled", async () => {
    const page = await here.at("billing");
    const rowOf = (table: string) =>
      page.getByRole("table", { name: table }).getByRole("row").filter({ hasText: "Oldest" });
    await rowOf("Prices").getByRole("button", { name: "Quote" }).waitFor();
    await rowOf("Subscriptions").getByRole("button", { name: "Cancel" }).waitFor();
  });
});
