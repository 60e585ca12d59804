import { create, toBinary } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import type { Page } from "playwright-core";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { runSql } from "../support/postgres.ts";
import { describeInBrowser, surroundings } from "./browser.ts";

describeInBrowser("the console in trouble", () => {
  const here = surroundings({ SERVICE_RATE_LIMITS: "off" }, "serve");

  const at = (path: string): Promise<Page> => here.at(path);

  const info = create(ErrorInfoSchema, { reason: "unavailable", domain: "atrium", metadata: { http_status: "503" } });
  const unavailable = {
    code: "unavailable",
    message: "The service cannot do this now; try again.",
    details: [
      { type: ErrorInfoSchema.typeName, value: Buffer.from(toBinary(ErrorInfoSchema, info)).toString("base64") },
    ],
  };

  const away = (page: Page) => page.getByText("The service does not answer.", { exact: false });

  it("a service that is away shows a banner, and the page recovers by itself when it is back", async () => {
    const page = await at("members");
    await page.getByRole("cell", { name: here.app.owner.email }).first().waitFor();
    await page.getByRole("searchbox", { name: "Search members" }).waitFor();
    let isAway = true;
    await page.route("**/*", (route) => (isAway ? route.abort("connectionrefused") : route.continue()));
    await page.getByRole("searchbox", { name: "Search members" }).fill("owner");
    await away(page).first().waitFor();
    isAway = false;
    await page.getByRole("cell", { name: here.app.owner.email }).first().waitFor();
    await page.getByRole("status").filter({ hasText: "The service does not answer." }).waitFor({ state: "detached" });
    expect(await page.getByRole("searchbox", { name: "Search members" }).inputValue()).toBe("owner");
  });

  it("a database that is away shows a countdown to the next attempt, and the page recovers", async () => {
    const page = await at("members");
    await page.getByRole("cell", { name: here.app.owner.email }).first().waitFor();
    let isAway = true;
    await page.route(/Service\/List|readyz/u, (route) =>
      isAway
        ? route.fulfill({
            status: 503,
            contentType: "application/json",
            headers: { "retry-after": "3" },
            body: JSON.stringify(unavailable),
          })
        : route.continue(),
    );
    await page.getByRole("searchbox", { name: "Search members" }).fill("owner");
    await page.getByText(/^Trying again in \d+ s$/u).waitFor();
    isAway = false;
    await page.getByRole("cell", { name: here.app.owner.email }).first().waitFor();
    await page.getByText(/^Trying again in/u).waitFor({ state: "detached" });
  });

  it("a service that stays away is asked once a countdown, and a toast has the id of the request", async () => {
    const page = await at("members");
    await page.getByRole("cell", { name: here.app.owner.email }).first().waitFor();
    await page.clock.install();
    let asked = 0;
    await page.route(/Service\/ListUsers/u, (route) => {
      asked++;
      return route.fulfill({
        status: 503,
        contentType: "application/json",
        headers: { "retry-after": "30", "x-request-id": "5e1f0a0c-0000-4000-8000-000000000001" },
        body: JSON.stringify(unavailable),
      });
    });
    await page.getByRole("button", { name: "Download CSV" }).click();
    const toast = page.getByRole("alert").filter({ hasText: "request …00000001" });
    await toast.getByRole("button", { name: "Copy request id" }).waitFor();
    await page.getByRole("searchbox", { name: "Search members" }).fill("owner");
    const next = page.getByText(/^Trying again in \d+ s$/u);
    for (const attempts of [1, 2, 3]) {
      for (let step = 0; step < 40 && asked < 1 + attempts; step++) await page.clock.runFor(1_000);
      await next.waitFor();
      await page.clock.runFor(5_000);
      expect(asked).toBe(1 + attempts);
    }
  });

  it("a page beyond the end of a table says so, and leads to the last one", async () => {
    const page = await at("members?page=99");
    await page.getByText("There is no page 99 of members: the last is page 1.").waitFor();
    await page.getByRole("button", { name: "First page" }).click();
    await page.getByRole("cell", { name: here.app.owner.email }).first().waitFor();
    expect(new URL(page.url()).searchParams.has("page")).toBe(false);
    await page.goto(`${here.url}/console/members?page=5000`);
    await page.getByText("There is no page 5,000 of members: the last is page 1.").waitFor();
    expect(await page.getByRole("alert").filter({ hasText: /\S/u }).count()).toBe(0);
  });

  it("each card of the overview fails alone, with the id of its request, and is read again", async () => {
    const page = await here.open("/sign-in");
    let isRefused = true;
    let requests = 0;
    await page.route(/Service\/(?:ListWebhooks|ListMeters|GetAuditStats|ListSigningKeys|ListInstalls)\b/u, (route) =>
      isRefused
        ? route.fulfill({
            status: 403,
            contentType: "application/json",
            headers: { "x-request-id": `5e1f0a0c-0000-4000-8000-${String(++requests).padStart(12, "0")}` },
            body: JSON.stringify({ code: "permission_denied", message: "You may not see this." }),
          })
        : route.continue(),
    );
    await here.signIn(page);
    const titles = ["Finish setting up", "Sign-ins", "Webhook success", "Meters", "Apps", "Signing keys"];
    const card = (title: string) => page.getByRole("region", { name: title, exact: true });
    for (const title of titles) {
      await card(title).getByRole("alert").filter({ hasText: "You may not see this." }).waitFor();
      await card(title)
        .getByText(/^…0\d{7}$/u)
        .waitFor();
    }
    isRefused = false;
    for (const title of titles) await card(title).getByRole("button", { name: "Try again" }).click();
    await card("Sign-ins").getByText("Success").waitFor();
    await card("Finish setting up").getByRole("link", { name: "Invite your team" }).waitFor();
    // There is none: nothing is to be shown.
    for (const none of ["Webhook success", "Meters"]) await card(none).waitFor({ state: "detached" });
    expect(await page.getByRole("main").getByRole("alert").count()).toBe(0);
  });

  it("who can read a secret is unknown, and not nobody, while a list cannot be read", async () => {
    const token = await here.app.login();
    const { org_uuid: orgUuid } = (await here.app.call("GET", "/api/auth/me", { token })).body;
    await here.app.call("PUT", `/api/admin/organizations/${orgUuid}/secrets/mail.key`, { token, body: { value: "1" } });
    const page = await here.open("/sign-in");
    await here.signIn(page);
    let isRefused = true;
    await page.route(/Service\/(?:ListUsers|ListApiKeys)\b/u, (route) =>
      isRefused ? route.fulfill({ status: 403, body: "{}" }) : route.continue(),
    );
    await page.goto(`${here.url}/console/vault/mail.key`);
    const readers = page.getByRole("region", { name: "Who can read this" });
    await expect.poll(() => readers.getByRole("button", { name: "Try again" }).count()).toBe(2);
    // The third list may come after the two refusals.
    await expect.poll(() => readers.getByText("none", { exact: true }).count()).toBe(1);
    isRefused = false;
    for (let left = 2; left > 0; left--) {
      await readers.getByRole("button", { name: "Try again" }).first().click();
      await expect.poll(() => readers.getByRole("button", { name: "Try again" }).count()).toBe(left - 1);
    }
    await readers.getByText(here.app.owner.email).waitFor();
  });

  it("an install that could not be read is read again without a reload of the page", async () => {
    const page = await at("installs/00000000-0000-4000-8000-000000000000");
    await page.getByRole("alert").filter({ hasText: "install_not_found" }).waitFor();
    await page.evaluate("window.untouched = true");
    const again = page.waitForResponse(/BuyerService\/(?:Watch|Get)Install$/u);
    await page.getByRole("button", { name: "Try again" }).click();
    await again;
    await page.getByRole("alert").filter({ hasText: "install_not_found" }).waitFor();
    expect(await page.evaluate("window.untouched")).toBe(true);
  });

  it("a list whose reading anew is refused says so above its old rows, and is not read again by itself", async () => {
    const page = await at("audit");
    await page.getByRole("link", { name: "login.password" }).first().waitFor();
    let refused = 0;
    await page.route(/Service\/(?:List|Search)\w*Events\b/u, (route) => {
      refused++;
      const body = JSON.stringify({ code: "permission_denied", message: "You may not see this." });
      return route.fulfill({ status: 403, contentType: "application/json", body });
    });
    await page.getByRole("button", { name: "Live" }).click();
    await page.getByText(/^Not up to date: this was read /u).waitFor();
    await page.getByRole("alert").filter({ hasText: "You may not see this." }).waitFor();
    await page.getByRole("link", { name: "login.password" }).first().waitFor();
    const before = refused;
    await page.waitForTimeout(6_000);
    expect(refused).toBe(before);
    await page.unroute(/Service\/(?:List|Search)\w*Events\b/u);
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText(/^Not up to date/u).waitFor({ state: "detached" });
  });

  it("a browser without a network says so, and keeps what was typed", async () => {
    const page = await at("members");
    await page.getByRole("button", { name: "Invite" }).first().click();
    const dialog = page.getByRole("dialog");
    const email = dialog.getByRole("textbox").first();
    await email.fill("new@acme.test");
    await page.context().setOffline(true);
    await page.getByText("You are offline.", { exact: false }).waitFor();
    expect(await email.inputValue()).toBe("new@acme.test");
    await page.context().setOffline(false);
    await page.getByText("You are offline.", { exact: false }).waitFor({ state: "detached" });
  });

  it("a form opens at once while what it offers is slow, and keeps what is typed meanwhile", async () => {
    const page = await at("me");
    let release: (() => void) | undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    await page.route(/Service\/(?:ListRoles|ListServiceIdentities)$/u, async (route) => {
      await held;
      await route.continue().catch(() => undefined);
    });
    await page.goto(`${here.url}/console/delegated`);
    await page.getByRole("button", { name: "Create automation token" }).click();
    await page.getByRole("dialog", { name: "Create automation token" }).getByRole("button", { name: "Cancel" }).click();
    await page.goto(`${here.url}/console/identities`);
    await page.getByRole("button", { name: "Create service identity" }).click();
    const form = page.getByRole("dialog", { name: "Create service identity" });
    await form.getByLabel("Name").fill("worker");
    expect(await form.getByLabel("Role").count()).toBe(0);
    release?.();
    await form.getByLabel("Role").selectOption("Observer");
    expect(await form.getByLabel("Name").inputValue()).toBe("worker");
    await form.getByRole("button", { name: "Create" }).click();
    await page.getByRole("row").filter({ hasText: "worker" }).getByText("Observer").waitFor();
  });

  it("a refusal for the number of requests says how long to wait, and each refusal counts anew", async () => {
    const limited = create(ErrorInfoSchema, { ...info, reason: "rate_limited", metadata: { http_status: "429" } });
    const value = Buffer.from(toBinary(ErrorInfoSchema, limited)).toString("base64");
    let asked = 0;
    const page = await at("me");
    await page.route(/Service\/ListWebhooks$/u, (route) =>
      route.fulfill({
        status: 429,
        contentType: "application/json",
        headers: { "retry-after": asked++ === 0 ? "90" : "300", "x-request-id": `request-${asked}` },
        body: JSON.stringify({
          code: "resource_exhausted",
          message: "Too many requests; wait and try again.",
          details: [{ type: ErrorInfoSchema.typeName, value }],
        }),
      }),
    );
    await page.goto(`${here.url}/console/webhooks`);
    const wait = page.getByRole("alert").getByRole("timer");
    await wait.filter({ hasText: /^Try again in [01]:\d\d\.$/u }).waitFor();
    await page.getByRole("button", { name: "Try again" }).click();
    await wait.filter({ hasText: /^Try again in [45]:\d\d\.$/u }).waitFor();
  });

  it("10,000 members are paged, sorted and searched by the service", async () => {
    await runSql(
      here.app.databaseUrl,
      `with made as (
         insert into people (uuid, email, email_key, first_name, last_name, created_at, updated_at)
         select gen_random_uuid(), 'crowd' || n || '@acme.test', 'crowd' || n || '@acme.test', 'Crowd',
           lpad(n::text, 5, '0'), now(), now()
         from generate_series(1, 10000) n returning uuid)
       insert into memberships (org_uuid, user_uuid, role_id, created_at, updated_at)
       select o.uuid, made.uuid, 3, now(), now() from made, organizations o where o.name = $1`,
      [here.app.owner.org],
    );
    const page = await at("members");
    await page
      .getByText(/of (?:more than )?10,00\d/u)
      .first()
      .waitFor();
    expect(await page.getByRole("table", { name: "Members" }).getByRole("row").count()).toBeLessThan(210);
    const [table, foot] = [page.getByRole("table", { name: "Members" }), page.getByText(/^\d+–\d+ of 10,00\d/u)];
    const email = table.getByRole("columnheader", { name: "Email" });
    await email.getByRole("button", { name: "Email" }).click();
    await table.getByRole("cell", { name: "crowd10000@acme.test", exact: true }).waitFor();
    expect(await email.getAttribute("aria-sort")).toBe("ascending");
    expect(await page.getByRole("button", { name: "Previous page" }).isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Next page" }).click();
    await foot.filter({ hasText: "51–100" }).waitFor();
    await page.reload();
    await foot.filter({ hasText: "51–100" }).waitFor();
    expect(new URL(page.url()).search).toBe("?sort=email&page=2");
    const rows = await table.getByRole("row").allTextContents();
    await page.goto(`${here.url}/console/me`);
    await page.goBack();
    await foot.filter({ hasText: "51–100" }).waitFor();
    expect(await table.getByRole("row").allTextContents()).toEqual(rows);
    await page.getByRole("button", { name: "Previous page" }).click();
    await foot.filter({ hasText: "1–50" }).waitFor();
    await page.goto(`${here.url}/console/members?page=201`);
    await page.getByText(/^10,001–10,00\d of 10,00\d$/u).waitFor();
    await page.goto(`${here.url}/console/members?page=300`);
    await page.getByText("There is no page 300 of members: the last is page 201", { exact: false }).waitFor();
    await page.getByRole("button", { name: "Last page" }).click();
    await page.getByText(/^10,001–10,00\d of 10,00\d/u).waitFor();
    await page.getByRole("searchbox", { name: "Search members" }).fill("crowd9999@");
    await page.getByRole("cell", { name: "crowd9999@acme.test", exact: true }).waitFor();
    await expect.poll(() => page.getByRole("table", { name: "Members" }).getByRole("row").count()).toBe(2);
  });
});
