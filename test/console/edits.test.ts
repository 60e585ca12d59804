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
