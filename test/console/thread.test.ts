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

  it("a wrong password and an unknown email give the same alert and put the focus on the password", async () => {
    const page = await here.open("/sign-in");
    const texts: (string | null)[] = [];
    for (const email of ["owner@acme.test", "nobody@acme.test"]) {
      await page.getByLabel("Organization").fill("Acme");
      await page.getByLabel("Email", { exact: true }).fill(email);
      await page.getByLabel("Password", { exact: true }).fill("wrong password");
      await page.getByRole("button", { name: "Sign in" }).click();
      await expect.poll(() => page.locator(":focus").getAttribute("name")).toBe("password");
      await page.getByRole("alert").filter({ hasText: /\S/u }).waitFor();
      texts.push(await page.getByRole("alert").filter({ hasText: /\S/u }).textContent());
    }
    expect(texts[0]).toBe(texts[1]);
  });
});
