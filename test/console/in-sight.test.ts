import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { runSql } from "../support/postgres.ts";
import { describeInBrowser, surroundings, visit } from "./browser.ts";

/** What tells an element from its neighbours, apart from its colour. */
const LOOK = `(element) => {
  const { outlineStyle, outlineColor, backgroundColor, borderBottomColor } = getComputedStyle(element);
  return [outlineStyle, outlineColor, backgroundColor, borderBottomColor].join(" ");
}`;

describeInBrowser("what stays in sight", () => {
  const here = surroundings({ SERVICE_RATE_LIMITS: "off" }, "serve");

  /** Makes somebody a member. */
  async function join(email: string, firstName: string): Promise<void> {
    const token = await here.app.login();
    const { org_uuid: orgUuid } = (await here.app.call("GET", "/api/auth/me", { token })).body;
    await runSql(
      here.app.databaseUrl,
      `with made as (
         insert into people (uuid, email, email_key, first_name, created_at, updated_at)
         values (gen_random_uuid(), $3, $3, $2, now(), now()) returning uuid)
       insert into memberships (org_uuid, user_uuid, role_id, created_at, updated_at)
       select $1, uuid, 3, now(), now() from made`,
      [orgUuid, firstName, email],
    );
  }

  it("an address stays on one line beside the long first name of its member", async () => {
    await join(
      "pablo.ruiz@acme.test",
      "Pablo Diego José Francisco de Paula Juan Nepomuceno María de los Remedios Cipriano",
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

  it("on a phone no word of a label in a card is broken, however wide its letters are", async () => {
    const token = await here.app.login();
    const { org_uuid: orgUuid } = (await here.app.call("GET", "/api/auth/me", { token })).body;
    const body = { name: "worker", role_id: 3 };
    await here.app.call("POST", `/api/organizations/${orgUuid}/service-identities`, { token, body });
    const page = await here.at("identities");
    await page.setViewportSize({ width: 320, height: 800 });
    await page.getByRole("link", { name: "worker" }).waitFor();
    const narrow = `[...document.querySelectorAll("main tbody tr:first-child td:not(:last-child)")].filter((cell) => {
      const { font, letterSpacing } = getComputedStyle(cell, "::before");
      const canvas = Object.assign(document.createElement("canvas").getContext("2d"), { font, letterSpacing });
      const longest = Math.max(...cell.dataset.header.split(" ").map((word) => canvas.measureText(word).width));
      return parseFloat(getComputedStyle(cell).gridTemplateColumns) < Math.floor(longest);
    }).map((cell) => cell.dataset.header)`;
    for (const look of ["letterSpacing = '0.2em'", "fontSize = '150%'"]) {
      await page.evaluate(`document.documentElement.style.${look}`);
      expect(await page.evaluate(narrow), look).toEqual([]);
      await page.evaluate("document.documentElement.removeAttribute('style')");
    }
  });

  it("what stands beside a long name in a menu or in the palette keeps its size on a phone", async () => {
    const token = await here.app.login();
    const name = `W${randomBytes(4).toString("hex")}`.padEnd(100, "W");
    expect((await here.app.call("POST", "/api/organizations", { token, body: { name } })).status).toBe(201);
    await join(`${randomBytes(4).toString("hex").padEnd(60, "w")}@${"w".repeat(60)}.test`, "Wilhelmina");
    const page = await here.at("settings");
    await page.setViewportSize({ width: 320, height: 800 });
    await page.getByRole("button", { name: /^Organization: /u }).click();
    const icon = page.getByRole("menuitem", { name }).locator("svg");
    expect((await icon.boundingBox())?.width).toBe(15);
    await page.keyboard.press("Escape");
    await page.getByRole("menu").waitFor({ state: "detached" });
    await page.keyboard.press("Control+k");
    await page.keyboard.type("wwww");
    const kind = page.getByRole("option", { name: "Member" }).locator("small");
    expect((await kind.boundingBox())?.height).toBeLessThan(30);
  });

  it("the place where toasts appear takes no press while there is none", async () => {
    const page = await here.at("settings");
    const atPlace = "getComputedStyle(document.elementFromPoint(innerWidth - 40, innerHeight - 20)).position";
    expect(await page.evaluate(atPlace)).not.toBe("fixed");
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

  it("what is chosen differs from the rest, also where the system forces its colours", async () => {
    const storageState = await here.sessionOf(here.app.owner);
    for (const forcedColors of ["none", "active"] as const) {
      const page = await here.open("/console/audit", { forcedColors, storageState });
      const look = (selector: string): Promise<string> =>
        page.evaluate(`(${LOOK})(document.querySelector(${JSON.stringify(selector)}))`);
      const differ = async (chosen: string, other: string): Promise<void> => {
        await page.locator(chosen).first().waitFor();
        expect(await look(chosen), `${forcedColors}: ${chosen}`).not.toBe(await look(other));
      };
      await page.getByRole("button", { name: "Live", exact: true }).click();
      await page.mouse.move(0, 0);
      await expect.poll(() => page.evaluate("document.getAnimations().length")).toBe(0);
      await differ('main button[aria-pressed="true"]', "main button:not([aria-pressed])");
      await differ('[role="tab"][aria-selected="true"]', '[role="tab"][aria-selected="false"]');
      await page.getByRole("button", { name: /^Account: /u }).focus();
      await page.keyboard.press("Enter");
      await differ('[role="menuitem"][data-highlighted]', '[role="menuitem"]:not([data-highlighted])');
      await page.keyboard.press("Escape");
      await page.getByRole("menu").waitFor({ state: "detached" });
      await page.keyboard.press("Control+k");
      await differ('[role="option"][aria-selected="true"]', '[role="option"][aria-selected="false"]');
      await page.keyboard.press("Escape");
      await visit(page, "vault");
      await page.getByRole("tab", { name: "Deleted" }).waitFor();
      await differ('[role="tab"][aria-selected="true"]', '[role="tab"][aria-selected="false"]');
      expect(await look("header a > span")).toContain("rgb(59, 91, 219)");
    }
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
