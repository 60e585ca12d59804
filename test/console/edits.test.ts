import { expect, it } from "vitest";
import { draftOf } from "../support/market.ts";
import { describeInBrowser, rowButton, surroundings } from "./browser.ts";

describeInBrowser("edits while somebody else edits", () => {
  const here = surroundings({ SERVICE_RATE_LIMITS: "off" }, "serve");

  async function owner(): Promise<{ token: string; org: string }> {
    const token = await here.app.login();
    const { body } = await here.app.call("GET", "/api/auth/me", { token });
    return { token, org: body.org_uuid as string };
  }

  it("a service identity keeps the role that was changed while its description was edited", async () => {
    const { token, org } = await owner();
    const path = `/api/organizations/${org}/service-identities`;
    const { body: made } = await here.app.call("POST", path, { token, body: { name: "ci", role_id: 3 } });
    const identity = `${path}/${made.identity_id as string}`;
    const page = await here.at(`identities/${made.identity_id as string}`);
    await page.getByRole("button", { name: "Edit" }).click();
    const dialog = page.getByRole("dialog", { name: "Edit ci" });
    await dialog.getByLabel("Description").fill("Builds the service");
    expect((await here.app.call("PATCH", identity, { token, body: { role_id: 4 } })).status).toBe(200);
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByText("Service identity saved").waitFor();
    const { body } = await here.app.call("GET", identity, { token });
    expect(body).toMatchObject({ description: "Builds the service", role_id: 4 });
  });

  it("an app keeps what others change of its listing and plans, and a mode of deployment is demanded", async () => {
    const { token } = await owner();
    const draft = draftOf("orbit-edits", "http://127.0.0.1:9/provision");
    const { body: app } = await here.app.call("POST", "/api/marketplace/apps", { token, body: draft });
    const path = `/api/marketplace/apps/${app.app_id as string}`;
    const patch = async (body: object): Promise<void> => {
      expect((await here.app.call("PATCH", path, { token, body })).status).toBe(200);
    };
    const plan = (plan_id: string, price_cents = 900) => ({ plan_id, name: plan_id, price_cents, interval: "month" });
    await patch({ plans: [plan("basic")] });
    const now = async () => {
      const { body } = await here.app.call("GET", "/api/marketplace/apps", { token });
      return (body.data as Record<string, unknown>[]).find((one) => one["app_id"] === app.app_id);
    };
    const page = await here.at(`publish/${app.app_id as string}`);
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    const listing = page.getByRole("dialog", { name: "Edit Orbit" });
    await listing.getByLabel("Multi tenant").uncheck();
    await listing.getByRole("button", { name: "Save" }).click();
    await listing.getByText("Choose at least one.").waitFor();
    await listing.getByLabel("Single tenant").check();
    await patch({ base_price_cents: 2900 });
    await listing.getByRole("button", { name: "Save" }).click();
    await page.getByText("App saved").waitFor();
    expect(await now()).toMatchObject({ deployment_modes: ["single_tenant"], base_price_cents: 2900 });

    await page.getByRole("tab", { name: "Plans" }).click();
    await page.getByRole("button", { name: "Create plan" }).click();
    const dialog = page.getByRole("dialog", { name: "Create plan" });
    await dialog.getByLabel("Plan id").fill("plus");
    await dialog.getByLabel("Name").fill("Plus");
    await patch({ plans: [plan("basic"), plan("theirs")] });
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.getByText("Plan saved").waitFor();
    const ids = async () => ((await now())?.["plans"] as { plan_id: string }[]).map(({ plan_id }) => plan_id);
    expect(await ids()).toEqual(["basic", "theirs", "plus"]);

    // The plan itself was changed.
    await rowButton(page, "theirs", "Edit").click();
    const edit = page.getByRole("dialog", { name: "Edit theirs" });
    await edit.getByLabel("Name").fill("Ours");
    await patch({ plans: [plan("basic"), plan("theirs", 1200)] });
    await edit.getByRole("button", { name: "Save" }).click();
    await page.getByRole("alert").filter({ hasText: "Somebody else changed this plan meanwhile." }).waitFor();
    expect((await now())?.["plans"]).toMatchObject([plan("basic"), plan("theirs", 1200)]);
  });

  it("a template keeps the name that changed while its body was edited, and a body that others changed", async () => {
    const { token } = await owner();
    const made = await here.app.call("POST", "/api/templates", {
      token,
      body: { name: "Welcome", category: "email", variables: [], body: "<p>First</p>" },
    });
    const path = `/api/templates/${made.body.id as string}`;
    const patch = async (body: object): Promise<void> => {
      expect((await here.app.call("PATCH", path, { token, body })).status).toBe(200);
    };
    const page = await here.at(`templates/${made.body.id as string}`);
    const body = page.getByRole("textbox", { name: "Body" });
    const save = page.getByRole("button", { name: "Save", exact: true });
    await body.fill("<p>Mine</p>");
    await patch({ name: "Greeting" });
    await save.click();
    await page.getByText("Template saved").waitFor();
    // The name, which nobody typed in, follows.
    await page.getByRole("heading", { level: 1, name: "Greeting" }).waitFor();
    await expect.poll(() => page.getByLabel("Name", { exact: true }).inputValue()).toBe("Greeting");
    const now = async () => (await here.app.call("GET", path, { token })).body;
    expect(await now()).toMatchObject({ name: "Greeting", body: "<p>Mine</p>" });

    await body.fill("<p>Mine again</p>");
    await patch({ body: "<p>Theirs</p>" });
    await save.click();
    await page.getByRole("alert").filter({ hasText: "Somebody else changed this template meanwhile." }).waitFor();
    expect(await body.inputValue()).toBe("<p>Mine again</p>");
    expect(await now()).toMatchObject({ name: "Greeting", body: "<p>Theirs</p>" });
  });

  it("what is typed in a form of a page stays when the page is read anew, and undoes no change of others", async () => {
    const { token } = await owner();
    const path = "/api/ops/ai-gateway-config";
    const put = async (body: object): Promise<void> => {
      expect((await here.app.call("PUT", path, { token, body })).status).toBe(200);
    };
    await put({ provider: "openai", budget_usd: 10 });
    const page = await here.at("ai");
    const budget = page.getByLabel("Budget USD");
    await expect.poll(() => budget.inputValue()).toBe("10");
    await budget.fill("99");
    await put({ provider: "anthropic", budget_usd: 20 });
    // Whatever is written reads the page anew.
    await page.getByLabel("SLM").fill("small");
    await page.getByLabel("LLM", { exact: true }).fill("large");
    await page.getByRole("button", { name: "Save models" }).click();
    await page.getByText("Models saved").waitFor();
    await expect.poll(() => page.getByLabel("Provider", { exact: true }).inputValue()).toBe("anthropic");
    expect(await budget.inputValue()).toBe("99");
    await page.getByRole("button", { name: "Save budget" }).click();
    await page.getByText("Provider and budget saved").waitFor();
    const { body } = await here.app.call("GET", path, { token });
    expect(body).toMatchObject({ provider: "anthropic", budget_usd: 99 });
    // The button that was pressed keeps the focus.
    await page.getByRole("button", { name: "Save budget" }).and(page.locator(":focus")).waitFor();
  });

  it("a variable and a profile keep what was changed while another field of theirs was edited", async () => {
    const { token } = await owner();
    const variables = "/api/ops/custom-variables";
    const made = await here.app.call("POST", variables, {
      token,
      body: { key: "city", value: "Oslo", scope: "global" },
    });
    const page = await here.at("variables");
    await rowButton(page, "city", "Edit").click();
    const dialog = page.getByRole("dialog", { name: "Edit city" });
    await dialog.getByLabel("Value").fill("Bergen");
    const renamed = { key: "town", value: "Oslo" };
    const { id } = made.body.data as { id: number };
    expect((await here.app.call("PUT", `${variables}/${id}`, { token, body: renamed })).status).toBe(200);
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByRole("row").filter({ hasText: "town" }).getByText("Bergen").waitFor();

    await page.goto(`${here.url}/console/me`);
    await page.getByLabel("First name").fill("Olive");
    const phone = "+4915112345678";
    expect((await here.app.call("PUT", "/api/profile", { token, body: { phone } })).status).toBe(200);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved").waitFor();
    await expect.poll(() => page.getByLabel("Phone").inputValue()).toBe(phone);
    const { body } = await here.app.call("GET", "/api/profile", { token });
    expect(body).toMatchObject({ first_name: "Olive", phone });
    // Nothing to save is no failure.
    await page.getByRole("button", { name: "Save" }).click();
    await expect.poll(() => page.getByText("Saved").count()).toBe(2);
  });

  it("permissions of a role are not saved over those that somebody else gave meanwhile", async () => {
    const { token } = await owner();
    const { body: catalogue } = await here.app.call("GET", "/api/roles/permissions", { token });
    const [first, second] = (catalogue.data as { id: number; name: string }[]).map(({ id }) => id);
    const made = await here.app.call("POST", "/api/v2/products/console/roles", {
      token,
      body: { name: "Auditor", permissions: [{ id: first }] },
    });
    const role = made.body.data as { id: number };
    const page = await here.at(`roles/${role.id}`);
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Edit Auditor" });
    await dialog.getByRole("checkbox").nth(3).check();
    const path = `/api/roles/${role.id}/permissions`;
    const body = { permissions: [first, second] };
    expect((await here.app.call("PUT", path, { token, body })).status).toBe(200);
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByRole("alert").filter({ hasText: "Somebody else changed this role meanwhile." }).waitFor();
    const after = await here.app.call("GET", path, { token });
    expect((after.body.data as { id: number }[]).map(({ id }) => id).sort()).toEqual([first, second].sort());
  });
});
