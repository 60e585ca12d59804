import { expect, it } from "vitest";
import type { Page } from "playwright-core";
import { testClock } from "../support/clock.ts";
import { runSql } from "../support/postgres.ts";
import { doors, publicUrl } from "./at-doors.ts";
import { describeInBrowser, surroundings, visit } from "./browser.ts";

const MINUTE_MS = 60_000;
const env = { ...(await publicUrl()), SERVICE_OPEN_SIGNUP: "1", SERVICE_RATE_LIMITS: "off" };

describeInBrowser("somebody who belongs to no organization", () => {
  const clock = testClock();
  const here = surroundings(env, "all", undefined, clock);
  const { heading, mailed } = doors(here);

  async function signedInByMail(email: string): Promise<Page> {
    const page = await here.open("/sign-in");
    await page.getByLabel("Email", { exact: true }).fill(email);
    await page.getByRole("button", { name: "Email me a link" }).click();
    await page.goto(here.url + (await mailed(email, "/magic-link")));
    await page.getByRole("button", { name: "Sign in" }).click();
    await heading(page, "Overview");
    return page;
  }

  it("is offered what the service lets them do, and told of another way where it does not", async () => {
    const email = `${crypto.randomUUID()}@people.test`;
    const page = await signedInByMail(email);

    await visit(page, "me/sessions");
    await page.getByText("Without an organization you end your other sessions by a new password.").waitFor();
    await page.getByRole("cell", { name: "This session" }).waitFor();
    expect(await page.getByRole("button", { name: /^Sign out/u }).count()).toBe(0);
    expect(await page.getByRole("button", { name: "Try again" }).count()).toBe(0);
    await page.getByRole("button", { name: `Account: ${email}` }).click();
    await page.getByRole("menuitem", { name: "Sign out", exact: true }).waitFor();
    expect(await page.getByRole("menuitem", { name: "Sign out everywhere" }).count()).toBe(0);
    await page.keyboard.press("Escape");

    await visit(page, "me");
    await page.getByText("You belong to no organization.").waitFor();
    expect(await page.getByRole("button", { name: "Upload picture" }).count()).toBe(0);
    await visit(page, "members");
    await page.getByText("It is for members of an organization.", { exact: false }).waitFor();

    await visit(page, "me/security");
    clock.advance(16 * MINUTE_MS);
    await page.getByRole("button", { name: "Add authenticator" }).click();
    const proof = page.getByRole("dialog", { name: "Confirm it is you" });
    await proof.getByText("Without an organization the proof is a new sign-in", { exact: false }).waitFor();
    await proof.getByRole("button", { name: "Cancel" }).click();

    await page.getByRole("button", { name: "Organization: none" }).click();
    await page.getByRole("menuitem", { name: "Create an organization" }).click();
    await page.getByText(`You become its owner, as ${email}.`).waitFor();
    await page.getByLabel("Name").fill("Own");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("button", { name: "Organization: Own" }).waitFor();
  });

  it("a proof is not asked by a password of somebody who has none, who sets one by mail", async () => {
    const email = `${crypto.randomUUID()}@people.test`;
    await runSql(
      here.app.databaseUrl,
      `with made as (
         insert into people (uuid, email, email_key, email_confirmed_at, created_at, updated_at)
         values (gen_random_uuid(), $1, $1, now(), now(), now()) returning uuid)
       insert into memberships (org_uuid, user_uuid, role_id, created_at, updated_at)
       select o.uuid, made.uuid, 3, now(), now() from made, organizations o where o.name = $2`,
      [email, here.app.owner.org],
    );
    const page = await signedInByMail(email);
    await visit(page, "me/security");
    await page.getByText("You have no password.", { exact: false }).waitFor();
    clock.advance(16 * MINUTE_MS);
    await page.getByRole("button", { name: "Add authenticator" }).click();
    const proof = page.getByRole("dialog", { name: "Confirm it is you" });
    expect(await proof.getByRole("radio", { name: "Email link" }).isChecked()).toBe(true);
    expect(await proof.getByRole("radio").count()).toBe(1);
    await proof.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("link", { name: "Set a password" }).click();
    await heading(page, "Reset your password");
    expect(await page.getByLabel("Email").inputValue()).toBe(email);
  });
});
