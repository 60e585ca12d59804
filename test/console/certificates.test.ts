import { expect, it } from "vitest";
import { describeInBrowser, surroundings } from "./browser.ts";

describeInBrowser("certificates for a key of the browser", () => {
  const here = surroundings({ SERVICE_RATE_LIMITS: "off" }, "serve");

  it("a key that cannot be made is said, and a repetition after a lost answer issues no second one", async () => {
    const page = await here.at("certificates");
    await page.getByRole("button", { name: "Create CA" }).click();
    const creation = page.getByRole("dialog", { name: "Create CA" });
    await creation.getByLabel("Common name").fill("Acme internal CA");
    await creation.getByRole("button", { name: "Create" }).click();
    // The address for relying parties names this CA: without that, it is a newer one's list one day.
    await page
      .getByRole("code")
      .filter({ hasText: /\/ca\.crl\?ca_uuid=[0-9a-f-]{36}$/u })
      .waitFor();
    await page.getByText(/curl -s "\S+\/ca\.crl\?ca_uuid=[0-9a-f-]{36}&format=pem"/u).waitFor();
    await page.getByRole("button", { name: "Issue certificate" }).click();
    let dialog = page.getByRole("dialog", { name: "Issue certificate" });
    await page.route(/\/csr-[^/]*\.js/u, (route) => route.abort());
    await dialog.getByLabel("Common name").fill("worker");
    await dialog.getByRole("button", { name: "Issue" }).click();
    await dialog.getByText("This browser could not make the key.", { exact: false }).waitFor();
    expect(await dialog.getByRole("button", { name: "Issue" }).isEnabled()).toBe(true);
    await page.unroute(/\/csr-[^/]*\.js/u);

    await page.reload();
    await page.getByRole("button", { name: "Issue certificate" }).click();
    dialog = page.getByRole("dialog", { name: "Issue certificate" });
    await dialog.getByLabel("Common name").fill("worker");
    await page.route(/Service\/IssueCertificate/u, async (route) => {
      await route.fetch();
      await route.abort("connectionreset");
    });
    await dialog.getByRole("button", { name: "Issue" }).click();
    await dialog.getByText("The service did not answer.", { exact: false }).waitFor();
    await page.unroute(/Service\/IssueCertificate/u);
    await dialog.getByRole("button", { name: "Issue" }).click();
    const secret = page.getByRole("alertdialog", { name: "Save this certificate" });
    await secret.getByRole("button", { name: "I have saved it" }).click();
    await page.getByRole("row").filter({ hasText: "worker" }).first().waitFor();
    expect(await page.getByRole("row").filter({ hasText: "worker" }).count()).toBe(1);
  });
});
