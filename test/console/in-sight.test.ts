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

  it("series of a chart differ in the legend and on the canvas where the system forces its colours", async () => {
    const context = { forcedColors: "active", storageState: await here.sessionOf(here.app.owner) } as const;
    const page = await here.open("/console/audit", context);
    const chart = page.getByRole("region", { name: "Events a day" });
    await chart.getByRole("img").waitFor();
    const colours = `(() => {
      const legend = [...document.querySelectorAll("main section ul li")]
        .map((item) => getComputedStyle(item, "::before").backgroundColor);
      const canvas = document.querySelector("main canvas");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const drawn = new Set();
      for (let at = 0; at < data.length; at += 4)
        if (data[at + 3] === 255) drawn.add("rgb(" + data[at] + ", " + data[at + 1] + ", " + data[at + 2] + ")");
      return { legend, isDrawn: drawn.has(legend[0]) };
    })()`;
    const seen = (): Promise<{ legend: string[]; isDrawn: boolean }> => page.evaluate(colours);
    await expect.poll(async () => (await seen()).isDrawn).toBe(true);
    expect(new Set((await seen()).legend).size).toBe(2);
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
