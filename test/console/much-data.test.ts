import { expect, it } from "vitest";
import type { Page } from "playwright-core";
import { countSeeded, seedEvents } from "../auth-events/chain-support.ts";
import { runSql } from "../support/postgres.ts";
import { describeInBrowser, surroundings } from "./browser.ts";

const NAMES = [
  ["Hebrew and Arabic", "שלום עליכם", "مرحبا بالعالم"],
  ["Chinese, Thai and Devanagari", "王小明", "สมชาย नमस्ते"],
  ["joined emoji and combining marks", "👩‍👩‍👧‍👦🏳️‍🌈", "Z̷a̶l̸g̵o̷ é"],
  ["markup", '<img src=x onerror="alert(1)">', "</script><script>alert(2)</script>&amp;"],
  ["a word of 200 characters", "W".repeat(200), "i".repeat(200)],
] as const;

describeInBrowser("the console with much and strange data", () => {
  const here = surroundings({ SERVICE_RATE_LIMITS: "off" }, "serve");

  const at = (path: string): Promise<Page> => here.at(path);

  const organization = async (): Promise<string> =>
    (await here.app.call("GET", "/api/auth/me", { token: await here.app.login() })).body.org_uuid;

  it("names of every script, direction, length and markup are shown as they are, without sideways scroll", async () => {
    for (const [nth, [, first, last]] of NAMES.entries())
      await runSql(
        here.app.databaseUrl,
        `with made as (
           insert into people (uuid, email, email_key, first_name, last_name, created_at, updated_at)
           values (gen_random_uuid(), $1, $1, $2, $3, now(), now()) returning uuid)
         insert into memberships (org_uuid, user_uuid, role_id, created_at, updated_at)
         select o.uuid, made.uuid, 3, now(), now() from made, organizations o where o.name = $4`,
        [`name${nth}@acme.test`, first, last, here.app.owner.org],
      );
    const page = await at("members?q=name");
    // Beside them short words stay whole.
    const role = await page.getByText("Employee", { exact: true }).first().boundingBox();
    expect(role?.height).toBeLessThan(2 * 16);
    const dialogs: string[] = [];
    page.on("dialog", (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    for (const width of [1280, 320]) {
      await page.setViewportSize({ width, height: 800 });
      for (const [nth, [script, first]] of NAMES.entries()) {
        await page.goto(`${here.url}/console/members?q=name${nth}`);
        await page.getByRole("link", { name: `name${nth}@acme.test` }).click();
        await page.getByText(first, { exact: false }).first().waitFor();
        const wide = await page.evaluate<number>("document.documentElement.scrollWidth");
        expect(wide, `${script} at ${width} px`).toBeLessThanOrEqual(width);
      }
    }
    expect(dialogs).toEqual([]);
  });

  it("100,000 audit events are paged, narrowed and searched by the service", async () => {
    const orgUuid = await organization();
    const from = new Date(Date.now() - 100_000 * 1_000);
    await seedEvents(here.app.databaseUrl, { orgUuid, events: 100_000, from });
    await countSeeded(here.app.databaseUrl, orgUuid);
    const page = await at("audit");
    await page
      .getByText(/of 100,\d\d\d/u)
      .first()
      .waitFor();
    const table = page.getByRole("table", { name: "Audit events" });
    expect(await table.getByRole("row").count()).toBeLessThan(210);
    const first = await table.getByRole("row").nth(1).innerText();
    await page.getByRole("button", { name: "Next page" }).click();
    await expect.poll(() => table.getByRole("row").nth(1).innerText()).not.toBe(first);
    expect(new URL(page.url()).searchParams.get("page")).toBe("2");
    await page.goto(`${here.url}/console/audit?type=login.password&outcome=failure`);
    await table.getByRole("link", { name: "login.password" }).first().waitFor();
    expect(await table.getByRole("link", { name: "token.refreshed" }).count()).toBe(0);
    await page.getByRole("searchbox", { name: "Search events" }).fill("nothing has this");
    await page.getByText("No events match.").waitFor();
  });

  it("1,000 webhooks are paged by the service", async () => {
    const token = await here.app.login();
    const { status } = await here.app.call("POST", "/api/v2/webhooks", {
      token,
      body: { url: "https://receiver.test/first", events: ["*"] },
    });
    expect(status).toBe(201);
    const columns = await runSql<{ list: string; values: string }>(
      here.app.databaseUrl,
      `select string_agg(quote_ident(attname), ', ') as list,
         string_agg(case attname when 'webhook_id' then 'gen_random_uuid()'
           when 'url' then quote_literal('https://receiver.test/') || ' || n'
           else 'w.' || quote_ident(attname) end, ', ')
           as values
       from pg_attribute where attrelid = 'webhooks'::regclass and attnum > 0 and not attisdropped
         and attgenerated = '' and attidentity = ''`,
    );
    const [{ list = "", values = "" } = {}] = columns;
    await runSql(
      here.app.databaseUrl,
      `insert into webhooks (${list}) select ${values} from webhooks w, generate_series(2, 1000) n`,
    );
    const page = await at("webhooks");
    await page.getByText("of 1,000").first().waitFor();
    const table = page.getByRole("table", { name: "Webhooks" });
    expect(await table.getByRole("row").count()).toBeLessThan(210);
    await page.getByRole("searchbox", { name: "Search webhooks" }).fill("receiver.test/777");
    await page.getByText("https://receiver.test/777").first().waitFor();
    await expect.poll(() => table.getByRole("row").count()).toBe(2);
  });
});
