import type { Page } from "playwright-core";
import { beforeAll, expect, it } from "vitest";
import { runSql } from "../support/postgres.ts";
import { member, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { doors } from "./at-doors.ts";
import { describeInBrowser, rowButton, surroundings } from "./browser.ts";

const ADMIN = 1;

describeInBrowser("an admin who owns nothing, on the pages of members", () => {
  const here = surroundings({ SERVICE_RATE_LIMITS: "off" }, "serve");
  const { heading, enter } = doors(here);
  let owner: Somebody;

  beforeAll(async () => {
    const token = await here.app.login();
    const { body: me } = await here.app.call("GET", "/api/auth/me", { token });
    const { email, org: orgName } = here.app.owner;
    owner = { token, refreshToken: "", email, userUuid: me.user_uuid, org: me.org_uuid, orgName };
  });

  /** A new admin, at a path below `/console/`. */
  async function admin(path: (one: Somebody) => string): Promise<[page: Page, one: Somebody]> {
    const one = await member(here.app, owner, ADMIN);
    const page = await enter({ email: one.email, org: one.orgName, password });
    await heading(page, "Overview");
    await page.goto(`${here.url}/console/${path(one)}`);
    return [page, one];
  }

  it("the list offers to remove everybody but owners; who removes themself there is signed out", async () => {
    const [page, { email }] = await admin(() => "members");
    await rowButton(page, email, "Remove").waitFor();
    await page.getByRole("row").filter({ hasText: owner.email }).waitFor();
    expect(await rowButton(page, owner.email, "Remove").count()).toBe(0);
    await rowButton(page, email, "Remove").click();
    const asked = page.getByRole("alertdialog", { name: `Remove ${email}?` });
    await asked.getByRole("textbox").fill(email);
    await asked.getByRole("button", { name: "Remove" }).click();
    await heading(page, "Sign in");
    expect(await page.getByRole("dialog").count()).toBe(0);
  });

  it("a role that an owner takes and gives back changes the navigation without a reload", async () => {
    const [page, { userUuid }] = await admin(() => "me");
    const navigation = page.getByRole("navigation", { name: "Main" });
    const link = (name: string) => navigation.getByRole("link", { name, exact: true });
    const become = async (role: string): Promise<void> => {
      const { status } = await here.app.call("PUT", `/api/users/${userUuid}/role`, {
        token: owner.token,
        body: { role },
      });
      expect(status).toBe(200);
    };
    await link("Members").waitFor();
    // A read under way would learn of the new role, and the link would be gone before it is pressed.
    await page.waitForLoadState("networkidle");
    await become("employee");
    await link("Members").click();
    await heading(page, "You cannot see this page");
    expect(await link("Members").count()).toBe(0);
    await become("admin");
    await link("Security").click();
    await heading(page, "Security");
    await link("Members").waitFor();
  });

  it("a platform admin with the role employee sees the pages that the service opens to them", async () => {
    const one = await member(here.app, owner);
    await runSql(here.app.databaseUrl, "update people set is_platform_admin = true where uuid = $1", [one.userUuid]);
    const page = await enter({ email: one.email, org: one.orgName, password });
    await heading(page, "Overview");
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Members", exact: true }).click();
    await heading(page, "Members");
    await page.getByRole("row").filter({ hasText: owner.email }).waitFor();
  });

  it("another role of one's own changes the navigation at once; who deactivates themself is signed out", async () => {
    const [page] = await admin(({ userUuid }) => `members/${userUuid}`);
    await page.getByRole("button", { name: "Change role" }).click();
    const dialog = page.getByRole("dialog", { name: "Change role" });
    await dialog.getByLabel("Role").selectOption("Employee");
    await dialog.getByText("This is your own role.").waitFor();
    await dialog.getByRole("button", { name: "Change role" }).click();
    await heading(page, "You cannot see this page");
    const navigation = page.getByRole("navigation", { name: "Main" });
    expect(await navigation.getByRole("link", { name: "Members", exact: true }).count()).toBe(0);

    const [other] = await admin(({ userUuid }) => `members/${userUuid}`);
    await other.getByRole("button", { name: "Deactivate" }).click();
    await other.getByRole("alertdialog").getByRole("button", { name: "Deactivate" }).click();
    await heading(other, "Sign in");
    expect(await other.getByRole("dialog").count()).toBe(0);
    expect(await other.getByRole("button", { name: "Undo" }).count()).toBe(0);
  });
});
