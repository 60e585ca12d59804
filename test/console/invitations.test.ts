import { expect, it } from "vitest";
import { runSql } from "../support/postgres.ts";
import { describeInBrowser, rowButton, surroundings } from "./browser.ts";

describeInBrowser("invitations", () => {
  const here = surroundings({ SERVICE_RATE_LIMITS: "off" }, "serve");

  it("Stop ends a running invitation of many after the present line; the rest stays to be sent later", async () => {
    const page = await here.at("invitations");
    const sent: (() => void)[] = [];
    let held = Promise.resolve();
    const hold = (): void => {
      held = new Promise((resolve) => sent.push(resolve));
    };
    let asked = 0;
    hold();
    await page.route(/Service\/CreateInvitation/u, async (route) => {
      asked++;
      await held;
      await route.continue();
    });
    await page.getByRole("button", { name: "Invite" }).first().click();
    const dialog = page.getByRole("dialog", { name: "Invite" });
    const emails = dialog.getByLabel("Emails");
    await emails.fill("one@acme.test\ntwo@acme.test\nthree@acme.test");
    await dialog.getByRole("button", { name: "Invite", exact: true }).click();
    await expect.poll(() => asked).toBe(1);
    await dialog.getByRole("button", { name: "Stop" }).click();
    for (const resolve of sent.splice(0)) resolve();
    await dialog.getByText("1 of 1 line invited. Stopped: the other lines are not sent.").waitFor();
    expect(await emails.inputValue()).toBe("two@acme.test\nthree@acme.test");
    expect(asked).toBe(1);

    // Leaving the dialog stops it too.
    hold();
    await dialog.getByRole("button", { name: "Invite", exact: true }).click();
    await expect.poll(() => asked).toBe(2);
    await page.keyboard.press("Escape");
    await page.getByRole("alertdialog", { name: "Discard changes?" }).getByRole("button", { name: "Discard" }).click();
    await dialog.waitFor({ state: "detached" });
    for (const resolve of sent.splice(0)) resolve();
    await page.getByRole("cell", { name: "two@acme.test" }).waitFor();
    expect(asked).toBe(2);
    expect(await page.getByRole("cell", { name: "three@acme.test" }).count()).toBe(0);
  });

  it("an invitation that has expired is sent again, and cannot be withdrawn", async () => {
    const token = await here.app.login();
    const { body: me } = await here.app.call("GET", "/api/auth/me", { token });
    const path = `/api/admin/organizations/${me.org_uuid as string}/invitations`;
    await here.app.call("POST", path, { token, body: { email: "late@acme.test", role_id: 3 } });
    await runSql(
      here.app.databaseUrl,
      `update invitations set created_at = now() - interval '8 days', expires_at = now() - interval '1 day'
       where email = $1`,
      ["late@acme.test"],
    );
    const page = await here.at("invitations");
    const row = page.getByRole("row").filter({ hasText: "late@acme.test" });
    await row.getByText("Expired").waitFor();
    expect(await rowButton(page, "late@acme.test", "Withdraw").count()).toBe(0);
    await rowButton(page, "late@acme.test", "Resend").click();
    await page.getByText("Invitation sent again").waitFor();
    await row.getByText("Pending").waitFor();
  });
});
