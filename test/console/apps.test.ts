import type { Locator, Page } from "playwright-core";
import { afterAll, expect, it } from "vitest";
import { startPublisher } from "../demo/publisher.ts";
import type { Publisher } from "../demo/publisher.ts";
import { flakyLink } from "../support/flaky-link.ts";
import { openMarket } from "../support/market.ts";
import { runSql } from "../support/postgres.ts";
import { describeInBrowser, rowButton, surroundings } from "./browser.ts";

describeInBrowser("the marketplace", () => {
  const publishers: Publisher[] = [];
  const here = surroundings({}, "all");
  afterAll(() => Promise.all(publishers.map((publisher) => publisher.close())));

  /** Publishes an app by the console's dialog, and approves it; its server answers 202. */
  async function publish(page: Page, name: string): Promise<{ publisher: Publisher; slug: string }> {
    const publisher = await startPublisher(() => ({ status: 202 }));
    publishers.push(publisher);
    const slug = name.toLowerCase();
    await page.goto(`${here.url}/console/publish`);
    await page.getByRole("button", { name: "Create app" }).click();
    const dialog = page.getByRole("dialog", { name: "Create app" });
    await dialog.getByLabel("Name").fill(name);
    await dialog.getByLabel("Slug").fill(slug);
    await dialog.getByLabel("Description").fill("Dashboards");
    await dialog.getByLabel("Base price cents").fill("1900");
    await dialog.getByLabel("Provision webhook").fill(publisher.url);
    await dialog.getByRole("button", { name: "Create" }).click();
    publisher.useSecret(await savedSecret(page));
    await page.goto(`${here.url}/console/platform/approvals`);
    await page.getByRole("searchbox", { name: "Search apps" }).fill(name.slice(0, 3));
    await rowButton(page, name, "Reject").waitFor();
    await rowButton(page, name, "Approve").click();
    const review = page.getByRole("dialog", { name: `Approve ${name}` });
    await review.getByText("Dashboards").waitFor();
    await review.getByRole("button", { name: "Approve" }).click();
    await page.getByText("App approved").waitFor();
    return { publisher, slug };
  }

  async function savedSecret(page: Page): Promise<string> {
    const dialog = page.getByRole("alertdialog", { name: "Save this provision secret" });
    await dialog.getByRole("button", { name: "Show" }).click();
    const secret = (await dialog.locator("pre").textContent()) ?? "";
    await dialog.getByRole("button", { name: "I have saved it" }).click();
    return secret;
  }

  async function install(page: Page, seats: string): Promise<void> {
    await page.getByRole("button", { name: "Install" }).click();
    const dialog = page.getByRole("dialog", { name: /^Install /u });
    await dialog.getByLabel("Plan").selectOption("standard");
    await dialog.getByLabel("Seats").fill(seats);
    await dialog.getByLabel("Deployment").selectOption("multi_tenant");
    await dialog.getByText("$57.00").waitFor();
    await dialog.getByRole("button", { name: "Install" }).click();
    await page.getByRole("list", { name: "Timeline" }).getByText("The publisher accepted the request").waitFor();
  }

  /** Reports an install as active, as the publisher's server does when it is ready. */
  async function ready(publisher: Publisher): Promise<void> {
    const { pathname } = new URL(publisher.calls[0]?.data.callback_url ?? "");
    await publisher.report(here.url + pathname, { status: "active", endpoint_url: "https://orbit.example/" });
  }

  it("an app is published, approved, installed, suspended, resumed, archived and uninstalled", async () => {
    const page = await here.open("/sign-in");
    await here.signIn(page);
    const { publisher, slug } = await publish(page, "Orbit");
    await page.goto(`${here.url}/console/apps/${slug}`);
    await page.getByRole("cell", { name: "installed_by" }).waitFor();
    await install(page, "3");
    // From here on nothing reloads the page of the buyer.
    const timeline = page.getByRole("list", { name: "Timeline" });
    await ready(publisher);
    await timeline.getByText("Active", { exact: true }).waitFor();
    expect(await page.getByRole("link", { name: "Open app" }).getAttribute("href")).toBe("https://orbit.example/");

    const other = await page.context().newPage();
    await other.goto(`${here.url}/console/publish`);
    await other.getByRole("link", { name: "Orbit" }).click();
    await other.getByRole("tab", { name: "Installs" }).click();
    await other.getByRole("img", { name: /^Install funnel/u }).waitFor();
    await other.getByRole("button", { name: "Suspend" }).click();
    await other.getByRole("button", { name: "Resume" }).waitFor();
    await page.bringToFront();
    await timeline.getByText("Suspended by the publisher").waitFor();
    await other.bringToFront();
    await other.getByRole("button", { name: "Undo" }).click();
    await other.getByRole("button", { name: "Suspend" }).waitFor();

    await other.getByRole("cell", { name: "Acme" }).waitFor();
    await other.getByRole("link", { name: "Calls" }).click();
    await other.getByRole("definition").filter({ hasText: "Acme" }).waitFor();
    const chosen = other.getByLabel("Install", { exact: true });
    expect(await chosen.inputValue()).toBe(new URL(other.url()).searchParams.get("install"));
    await other.getByRole("list", { name: "Calls" }).getByText("install.provisioning", { exact: true }).click();
    const body = other.getByRole("list", { name: "Calls" }).locator("pre").filter({ hasText: '"plan_id": "standard"' });
    await body.filter({ hasText: '"type": "install.provisioning"' }).waitFor();
    await other.getByText(`// App ${slug}, `, { exact: false }).waitFor();
    await other.getByRole("button", { name: "Rotate provision secret" }).click();
    const rotate = other.getByRole("alertdialog", { name: "Rotate the provision secret?" });
    await rotate.getByRole("textbox").fill("Orbit");
    await rotate.getByRole("button", { name: "Rotate" }).click();
    publisher.useSecret(await savedSecret(other));
    await other.getByRole("button", { name: "Rotate app key" }).click();
    const appKey = other.getByRole("alertdialog");
    expect(await appKey.getByRole("button", { name: "Rotate" }).isDisabled()).toBe(true);
    await appKey.getByRole("textbox").fill("Orbit");
    await appKey.getByRole("button", { name: "Rotate" }).click();
    await other.getByText("App key rotated").waitFor();
    await other.getByRole("tab", { name: "Admins" }).click();
    await other.getByRole("table", { name: "Admins" }).getByText(here.app.owner.email).waitFor();

    await other.getByRole("tab", { name: "Plans" }).click();
    await other.getByRole("button", { name: "Create plan" }).click();
    const plan = other.getByRole("dialog", { name: "Create plan" });
    await plan.getByLabel("Plan id").fill("plus");
    await plan.getByLabel("Name").fill("Plus");
    // Neither is a price of 0 nor one of 19 cents meant.
    const price = plan.getByLabel("Price cents");
    await price.fill("");
    await plan.getByRole("button", { name: "Create" }).click();
    await plan.getByText("Enter a number.").waitFor();
    await price.fill("19.99");
    await plan.getByRole("button", { name: "Create" }).click();
    await plan.getByText("Enter a whole number.").waitFor();
    await price.fill("2900");
    await plan.getByRole("button", { name: "Create" }).click();
    await other.getByRole("cell", { name: "$29.00" }).waitFor();

    await other.getByRole("tab", { name: "Listing" }).click();
    await other.getByRole("button", { name: "Add listing" }).click();
    const listing = other.getByRole("dialog", { name: "Add listing" });
    await listing.getByLabel("Marketplace").fill("Elsewhere");
    await listing.getByLabel("External product id").fill("prod-42");
    await listing.getByRole("button", { name: "Add" }).click();
    await other.getByRole("cell", { name: "prod-42" }).waitFor();

    await other.getByRole("button", { name: "Archive" }).click();
    const archive = other.getByRole("alertdialog", { name: "Archive Orbit?" });
    expect(await archive.getByRole("button", { name: "Archive" }).isDisabled()).toBe(true);
    await archive.getByRole("textbox").fill("Orbit");
    await archive.getByRole("button", { name: "Archive" }).click();
    await other.getByText("App archived").waitFor();
    await other.close();

    // The service takes no such address; a page would not make a link of it either.
    await runSql(here.app.databaseUrl, "update installs set endpoint_url = 'javascript:alert(1)'");
    await page.reload();
    await page.getByRole("code").filter({ hasText: "javascript:alert(1)" }).first().waitFor();
    await page.getByRole("button", { name: "Uninstall" }).waitFor();
    expect(await page.locator("a[href^='javascript:' i]").count()).toBe(0);
    expect(await page.getByRole("link", { name: "Open app" }).count()).toBe(0);

    await page.getByRole("button", { name: "Uninstall" }).click();
    const uninstall = page.getByRole("alertdialog", { name: "Uninstall Orbit?" });
    expect(await uninstall.getByRole("button", { name: "Uninstall" }).isDisabled()).toBe(true);
    await uninstall.getByRole("textbox").fill("Orbit");
    await uninstall.getByRole("button", { name: "Uninstall" }).click();
    await timeline.getByText("Deprovisioning", { exact: true }).waitFor();
  });

  /** Moves the focus by the Tab key until it is on a field, button or link. */
  async function tabTo(target: Locator): Promise<void> {
    await target.waitFor();
    for (let i = 0; i < 300; i++) {
      if ((await target.and(target.page().locator(":focus")).count()) === 1) return;
      await target.page().keyboard.press("Tab");
    }
    throw new Error(`The Tab key does not reach ${String(target)}.`);
  }

  it("an app is published, approved and installed, and seen to become active, by keyboard alone", async () => {
    const page = await here.open("/sign-in");
    const { keyboard } = page;
    const type = async (field: Locator, text: string): Promise<void> => {
      await tabTo(field);
      await keyboard.press("Control+A");
      await keyboard.type(text);
    };
    const choose = async (field: Locator, option: string): Promise<void> => {
      await tabTo(field);
      for (let i = 0; i < 10 && (await field.inputValue()) !== option; i++) await keyboard.press("ArrowDown");
      expect(await field.inputValue()).toBe(option);
    };
    const press = async (target: Locator): Promise<void> => {
      await tabTo(target);
      await keyboard.press("Enter");
    };
    const goTo = async (words: string, heading: string): Promise<void> => {
      await keyboard.press("Control+K");
      await page.getByRole("dialog").getByRole("combobox").waitFor();
      await keyboard.type(words);
      await page
        .getByRole("option", { name: new RegExp(heading, "u") })
        .first()
        .waitFor();
      await keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: heading }).waitFor();
    };

    const { email, org, password } = here.app.owner;
    await type(page.getByLabel("Organization"), org);
    await type(page.getByLabel("Email", { exact: true }), email);
    await type(page.getByLabel("Password", { exact: true }), password);
    await keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();

    const publisher = await startPublisher(() => ({ status: 202 }));
    publishers.push(publisher);
    await goTo("my apps", "My apps");
    await keyboard.press("c");
    const create = page.getByRole("dialog", { name: "Create app" });
    await type(create.getByLabel("Name"), "Nova");
    await type(create.getByLabel("Slug"), "nova");
    await type(create.getByLabel("Description"), "Dashboards");
    await type(create.getByLabel("Base price cents"), "1900");
    await type(create.getByLabel("Provision webhook"), publisher.url);
    await press(create.getByRole("button", { name: "Create" }));
    const saved = page.getByRole("alertdialog", { name: "Save this provision secret" });
    await press(saved.getByRole("button", { name: "Show" }));
    publisher.useSecret((await saved.locator("pre").textContent()) ?? "");
    await press(saved.getByRole("button", { name: "I have saved it" }));
    await saved.waitFor({ state: "hidden" });

    await goTo("approvals", "Approvals");
    await press(rowButton(page, "Nova", "Approve"));
    await press(page.getByRole("dialog", { name: "Approve Nova" }).getByRole("button", { name: "Approve" }));
    await page.getByText("App approved").waitFor();
    await goTo("marketplace", "Marketplace");
    await press(page.getByRole("link", { name: "Nova" }));
    await press(page.getByRole("button", { name: "Install" }));
    const install = page.getByRole("dialog", { name: /^Install /u });
    await choose(install.getByLabel("Plan"), "standard");
    await type(install.getByLabel("Seats"), "3");
    await choose(install.getByLabel("Deployment"), "multi_tenant");
    await install.getByText("$57.00").waitFor();
    await press(install.getByRole("button", { name: "Install" }));
    const timeline = page.getByRole("list", { name: "Timeline" });
    await timeline.getByText("The publisher accepted the request").waitFor();
    await ready(publisher);
    await timeline.getByText("Active", { exact: true }).waitFor();
    await tabTo(page.getByRole("link", { name: "Open app" }));
  });

  it("the timeline of an install counts down to the attempt after one that failed", async () => {
    const market = await openMarket(here.app);
    try {
      const { install: buy } = await market.offer(() => ({ status: 503, headers: { "retry-after": "60" } }));
      const { install_id: installId } = (await buy()).body as { install_id: string };
      const page = await here.at(`installs/${installId}`);
      const last = page.getByRole("list", { name: "Timeline" }).getByRole("listitem").last();
      await last.getByText("An attempt to reach the publisher failed").waitFor();
      await last.getByText(/^Next attempt in (?:1 min )?\d+ s$/u).waitFor();
    } finally {
      await market.close();
    }
  });

  it("the timeline of an install reaches active although its stream is cut", async () => {
    const link = await flakyLink({ host: "127.0.0.1", port: Number(new URL(here.url).port) });
    const url = `http://127.0.0.1:${link.port}`;
    here.friends.add(`127.0.0.1:${link.port}`);
    try {
      const page = await here.open();
      await page.goto(`${url}/sign-in`);
      await here.signIn(page);
      const { publisher, slug } = await publish(page, "Comet");
      await page.goto(`${url}/console/apps/${slug}`);
      await install(page, "3");
      await page.getByText("Live", { exact: true }).waitFor();
      await link.cut();
      await page.getByText("Not live", { exact: true }).waitFor();
      await ready(publisher);
      await link.restore();
      await page.getByRole("list", { name: "Timeline" }).getByText("Active", { exact: true }).waitFor();
    } finally {
      await link.close();
    }
  });
});
