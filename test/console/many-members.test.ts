import { readFile } from "node:fs/promises";
import { beforeAll, expect, it } from "vitest";
import { runSql } from "../support/postgres.ts";
import { describeInBrowser, surroundings } from "./browser.ts";

/** More than a list answers at once. */
const MANY = 205;

describeInBrowser("an organization of more than 200 members", () => {
  const here = surroundings({ SERVICE_RATE_LIMITS: "off" }, "serve");
  const late = `late${MANY}@acme.test`;
  let lateUuid = "";

  beforeAll(async () => {
    await runSql(
      here.app.databaseUrl,
      `with made as (
         insert into people (uuid, email, email_key, created_at, updated_at)
         select gen_random_uuid(), name, name, now(), now()
         from (select 'late' || n || '@acme.test' as name from generate_series(1, $1::int) n) names
         returning uuid),
       members as (
         insert into memberships (org_uuid, user_uuid, role_id, created_at, updated_at)
         select o.uuid, made.uuid, 3, now(), now() from made, organizations o where o.name = $2)
       insert into sessions (uuid, user_uuid, org_uuid, device_uuid, amr, auth_time, created_at, last_seen_at,
         ip_address, user_agent, expires_at)
       select gen_random_uuid(), made.uuid, o.uuid, gen_random_uuid(), '{pwd}', now(), now(), now(),
         '127.0.0.1', 'curl/8.5.0', now() + interval '1 day'
       from made, organizations o where o.name = $2`,
      [MANY, here.app.owner.org],
    );
    const { body } = await here.app.call("GET", `/api/users?email=${late}`, { token: await here.app.login() });
    lateUuid = body.data[0].user_uuid;
  });

  it("the session inventory and its file name everybody, and the filter takes an address", async () => {
    const page = await here.at(`sessions?user_uuid=${lateUuid}`);
    await page.getByRole("cell", { name: late }).waitFor();
    await page.getByRole("button", { name: "Remove filter Person" }).filter({ hasText: late }).click();
    const person = page.getByRole("textbox", { name: "Person" });
    await person.fill("nobody@acme.test");
    await person.press("Enter");
    await page.getByRole("alert").filter({ hasText: "There is no person nobody@acme.test." }).waitFor();
    await person.fill(late);
    await person.press("Enter");
    await page.getByText("1–1 of 1").waitFor();
    await page.getByRole("cell", { name: late }).waitFor();
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page.getByText(/^1–50 of 2\d\d$/u).waitFor();
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download CSV" }).click(),
    ]);
    const people = (await readFile(await file.path(), "utf8")).split("\r\n").map((row) => row.split(",")[0]);
    expect(people).toContain(late);
    expect(people.filter((name) => name !== undefined && !name.includes("@"))).toEqual(["Person", ""]);
  });

  it("the palette finds by a pasted id what the id is of, and names it", async () => {
    const page = await here.at("settings");
    await page.keyboard.press("Control+k");
    const search = page.getByRole("combobox", { name: "Search pages, members, apps and ids" });
    await search.fill(crypto.randomUUID());
    await page.getByText("Nothing matches.").waitFor();
    await search.fill(lateUuid);
    await page.getByRole("option", { name: `${late} Member` }).waitFor();
    expect(await page.getByRole("option").count()).toBe(1);
    await search.press("Enter");
    await page.getByRole("heading", { level: 1, name: late }).waitFor();
  });
});
