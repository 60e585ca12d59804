import { expect, it } from "vitest";
import { runSql } from "../support/postgres.ts";
import { describeInBrowser, surroundings } from "./browser.ts";

describeInBrowser("what stays in sight", () => {
  const here = surroundings({ SERVICE_RATE_LIMITS: "off" }, "serve");

  it("an address stays on one line beside the long first name of its member", async () => {
    const token = await here.app.login();
    const { org_uuid: orgUuid } = (await here.app.call("GET", "/api/auth/me", { token })).body;
    await runSql(
      here.app.databaseUrl,
      `with made as (
         insert into people (uuid, email, email_key, first_name, created_at, updated_at)
         values (gen_random_uuid(), 'pablo.ruiz@acme.test', 'pablo.ruiz@acme.test', $2, now(), now()) returning uuid)
       insert into memberships (org_uuid, user_uuid, role_id, created_at, updated_at)
       select $1, uuid, 3, now(), now() from made`,
      [orgUuid, "Pablo Diego José Francisco de Paula Juan Nepomuceno María de los Remedios Cipriano"],
    );
    const page = await here.at("members");
    const address = page.getByRole("link", { name: "pablo.ruiz@acme.test" });
    await address.waitFor();
    expect((await address.boundingBox())?.height).toBeLessThan(30);
  });

  it("on a phone the first line of a card begins where the others do", async () => {
    const token = await here.app.login();
    const price = { product: "Seats", plan: "pro", interval: "month", currency: "usd", unit_amount_cents: 1_000 };
    expect((await here.app.call("POST", "/api/admin/pricing/prices", { token, body: price })).status).toBe(201);
    const page = await here.at("platform/prices");
    await page.setViewportSize({ width: 375, height: 800 });
    const row = page.getByRole("row").filter({ hasText: "Seats" });
    await row.waitFor();
    const starts = await page.evaluate(
      `[...document.querySelectorAll("tbody tr:first-child td")].map((cell) => getComputedStyle(cell).paddingLeft)`,
    );
    expect((starts as string[]).slice(0, 3)).toEqual(["0px", "0px", "0px"]);
  });

  it("the navigation shows which page is open after a reload, and goes with a key from page to page", async () => {
    const page = await here.at("webhooks");
    const open = page.getByRole("navigation", { name: "Main" }).locator('[aria-current="page"]');
    const isInSight = async (name: string): Promise<boolean> => {
      const box = await open.filter({ hasText: name }).boundingBox();
      return box !== null && box.y > 57 && box.y + box.height < 800;
    };
    await expect.poll(() => isInSight("Webhooks")).toBe(true);
    await page.goto(`${here.url}/console/platform/vault`);
    await expect.poll(() => isInSight("Vault seal")).toBe(true);
    await page.keyboard.press("g");
    await page.keyboard.press("m");
    await expect.poll(() => isInSight("Members")).toBe(true);
  });
});
