import { expect, it } from "vitest";
import { describeInBrowser, surroundings } from "./browser.ts";

describeInBrowser("the console", () => {
  const here = surroundings({}, "serve");

  it("the owner signs in by password and reaches the overview, security, members and installs", async () => {
    const page = await here.open("/sign-in");
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Sign in");
    await here.signIn(page);
    expect(new URL(page.url()).pathname).toBe("/console");
    const main = page.getByRole("navigation", { name: "Main" });
    for (const name of ["Security", "Members", "Installs"]) {
      await main.getByRole("link", { name, exact: true }).click();
      await page.getByRole("heading", { level: 1, name }).waitFor();
      expect(await page.title()).toBe(`${name} · Acme · Atrium`);
    }
  });
});
