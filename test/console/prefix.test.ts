import { expect, it } from "vitest";
import { openMarket } from "../support/market.ts";
import { describeInBrowser, surroundings } from "./browser.ts";

describeInBrowser("the console under a path of a proxy", () => {
  const here = surroundings({}, "all", "/atrium");

  it("sign-in, reload and every request stay below the prefix", async () => {
    const page = await here.open("/sign-in");
    const outside: string[] = [];
    page.on("request", (request) => {
      const { pathname, protocol } = new URL(request.url());
      if (protocol.startsWith("http") && !pathname.startsWith("/atrium/")) outside.push(pathname);
    });
    await here.signIn(page);
    expect(new URL(page.url()).pathname).toBe("/atrium/console");
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Members", exact: true }).click();
    await page.getByRole("cell", { name: here.app.owner.email, exact: true }).waitFor();
    const second = await page.context().newPage();
    await Promise.all([page.reload(), second.goto(`${here.url}/console/keys`)]);
    await page.getByRole("heading", { level: 1, name: "Members" }).waitFor();
    await second.getByRole("heading", { level: 1, name: "Signing keys" }).waitFor();
    await page.goto(`${here.url}/sign-in?next=//evil.test`);
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    expect(new URL(page.url()).pathname).toBe("/atrium/console");
    expect(outside).toEqual([]);
  });

  it("an install becomes active on the open page", async () => {
    const market = await openMarket(here.app);
    try {
      const { slug } = await market.offer(() => ({ status: 200, body: { endpoint_url: "https://orbit.test" } }));
      const page = await here.open("/sign-in");
      await here.signIn(page);
      await page.goto(`${here.url}/console/apps/${slug}`);
      await page.getByRole("button", { name: "Install" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Install" }).click();
      await page.waitForURL("**/atrium/console/installs/*");
      await page.evaluate("window.unreloaded = true");
      await page.getByRole("list", { name: "Timeline" }).getByText("Active", { exact: true }).waitFor();
      expect(await page.evaluate("window.unreloaded")).toBe(true);
    } finally {
      await market.close();
    }
  });

  it("assets are served compressed by brotli, and immutable", async () => {
    const html = await (await fetch(`${here.url}/console`, { headers: { accept: "text/html" } })).text();
    const script = /src="\.\/(console\/assets\/[^"]+\.js)"/u.exec(html)?.[1] ?? "";
    const asset = await fetch(`${here.url}/${script}`, { headers: { "accept-encoding": "br" } });
    expect(asset.status).toBe(200);
    expect(asset.headers.get("content-encoding")).toBe("br");
    expect(asset.headers.get("cache-control")).toContain("immutable");
    await asset.text();
  });
});
