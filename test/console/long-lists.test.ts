import { readFile } from "node:fs/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import type { Locator, Page } from "playwright-core";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { countSeeded, seedEvents } from "../auth-events/chain-support.ts";
import { testClock } from "../support/clock.ts";
import { runSql } from "../support/postgres.ts";
import { describeInBrowser, surroundings } from "./browser.ts";

const info = create(ErrorInfoSchema, { reason: "rate_limited", domain: "atrium", metadata: { http_status: "429" } });
/** The refusal of a request for the number of requests. */
const tooMany = {
  status: 429,
  contentType: "application/json",
  headers: { "retry-after": "2" },
  body: JSON.stringify({
    code: "resource_exhausted",
    message: "Too many requests.",
    details: [
      { type: ErrorInfoSchema.typeName, value: Buffer.from(toBinary(ErrorInfoSchema, info)).toString("base64") },
    ],
  }),
};

/** More than offsets reach with the largest page. */
const MANY = 10_300;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

describeInBrowser("tables longer than offsets reach", () => {
  const clock = testClock();
  const here = surroundings({ SERVICE_RATE_LIMITS: "off" }, "serve", undefined, clock);

  const at = (path: string): Promise<Page> => here.at(path);

  const foot = (page: Page, from: string): Locator => page.getByText(new RegExp(`^${from}–[\\d,]+ of `, "u"));
  const next = (page: Page): Promise<void> => page.getByRole("button", { name: "Next page" }).click();
  const previous = (page: Page): Promise<void> => page.getByRole("button", { name: "Previous page" }).click();

  async function saved(page: Page): Promise<string[]> {
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download CSV" }).click(),
    ]);
    return (await readFile(await file.path(), "utf8")).trim().split("\r\n");
  }

  it("a list of more than 10,200 members is downloaded whole, can be stopped, and is never short", async () => {
    await runSql(
      here.app.databaseUrl,
      `with made as (
         insert into people (uuid, email, email_key, first_name, last_name, created_at, updated_at)
         select gen_random_uuid(), 'crowd' || n || '@acme.test', 'crowd' || n || '@acme.test', 'Crowd',
           n::text, now(), now() from generate_series(1, $2::integer) n returning uuid)
       insert into memberships (org_uuid, user_uuid, role_id, created_at, updated_at)
       select o.uuid, made.uuid, 3, now(), now() from made, organizations o where o.name = $1`,
      [here.app.owner.org, MANY],
    );
    const page = await at("members?sort=-created_at");
    await foot(page, "1").waitFor();
    let asked = 0;
    await page.route(/Service\/ListUsers/u, async (route) => {
      if (++asked !== 3) return route.continue();
      await route.fulfill(tooMany);
      await page.getByText("; the service takes more in 2 s", { exact: false }).waitFor();
    });
    const [header = "", ...rows] = await saved(page);
    expect(header).toMatch(/^Email,/u);
    const crowd = new Set(rows.map((row) => row.split(",")[0]).filter((email) => email?.startsWith("crowd")));
    expect([crowd.size, rows.length]).toEqual([MANY, MANY + 1]);

    expect(asked).toBeGreaterThan(50);
    await page.unroute(/Service\/ListUsers/u);

    // A download that waits is stopped, and one of which a page fails saves nothing.
    const files: string[] = [];
    page.on("download", (file) => files.push(file.suggestedFilename()));
    asked = 0;
    let release: (() => void) | undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    await page.route(/Service\/ListUsers/u, async (route) => {
      if (++asked === 3) await held;
      await route.continue().catch(() => undefined);
    });
    await page.getByRole("button", { name: "Download CSV" }).click();
    const bar = page.getByRole("progressbar", { name: "Download of members" });
    await page.getByText(/^400 of 10,30\d$/u).waitFor();
    expect(await bar.getAttribute("value")).toBe("400");
    await page.getByRole("button", { name: "Stop download" }).click();
    await bar.waitFor({ state: "detached" });
    release?.();
    await page.getByRole("status").filter({ hasText: "The download was stopped" }).waitFor();
    const stopped = asked;

    await page.unroute(/Service\/ListUsers/u);
    await page.route(/Service\/ListUsers/u, (route) =>
      ++asked < stopped + 3
        ? route.continue()
        : route.fulfill({ status: 500, headers: { "x-request-id": "5e1f0a0c" } }),
    );
    await page.getByRole("button", { name: "Download CSV" }).click();
    const alert = page
      .getByRole("alert")
      .filter({ hasText: "No file is saved: the download failed after 400 members" });
    await alert.getByRole("button", { name: "Copy request id" }).waitFor();
    await bar.waitFor({ state: "detached" });
    expect(files).toEqual([]);
  });

  it("a list without cursors says what it cannot show, and saves no file that would be short", async () => {
    await runSql(
      here.app.databaseUrl,
      `insert into invitations (uuid, token_hash, org_uuid, email, email_key, role_id, created_at, expires_at)
       select gen_random_uuid(), sha256(n::text::bytea), uuid, 'guest' || n || '@acme.test',
         'guest' || n || '@acme.test', 3, now(), now() + interval '7 days'
       from organizations, generate_series(1, $2::integer) n where name = $1`,
      [here.app.owner.org, MANY],
    );
    const page = await at("invitations?page=201");
    await foot(page, "10,001").filter({ hasText: "; search to see the rest" }).waitFor();
    expect(await page.getByRole("button", { name: "Next page" }).isDisabled()).toBe(true);
    const files: string[] = [];
    page.on("download", (file) => files.push(file.suggestedFilename()));
    await page.getByRole("button", { name: "Download CSV" }).click();
    await page
      .getByRole("alert")
      .filter({ hasText: "there are more than the 10,200 invitations that can be read. Narrow the list first." })
      .waitFor();
    await page.getByRole("progressbar").waitFor({ state: "detached" });
    expect(files).toEqual([]);
    await page.goto(`${here.url}/console/invitations?page=205`);
    await page.getByText("There is no page 205 of invitations: the last is page 201 that can be read").waitFor();
    await page.getByRole("button", { name: "Last page" }).click();
    await foot(page, "10,001").waitFor();
    await page.getByRole("searchbox", { name: "Search invitations" }).fill("guest1029");
    await foot(page, "1").waitFor();
    const [header = "", ...rows] = await saved(page);
    expect(header).toMatch(/^Email,/u);
    const found = new Set(rows.map((row) => row.split(",")[0]));
    expect(found).toEqual(new Set(["", ...Array(10).keys()].map((digit) => `guest1029${digit}@acme.test`)));
  });

  it("pages beyond 10,000 events are read by cursor, and Back, reload and links lead to them", async () => {
    const orgUuid = (await here.app.call("GET", "/api/auth/me", { token: await here.app.login() })).body.org_uuid;
    // Of another day: the log grows by what this browser does.
    await seedEvents(here.app.databaseUrl, { orgUuid, events: MANY, from: new Date(clock.now() - 3 * DAY_MS) });
    await countSeeded(here.app.databaseUrl, orgUuid);
    const day = new Date(clock.now() - 2 * DAY_MS).toISOString().slice(0, 10);
    const page = await at(`audit?last_day=${day}&page=201`);
    await foot(page, "10,001").filter({ hasText: "; narrow by date" }).waitFor();
    const links = page.getByRole("table", { name: "Audit events" }).getByRole("link");
    const ids = async (): Promise<(string | null)[]> =>
      Promise.all((await links.all()).map((link) => link.getAttribute("href")));
    const at201 = await ids();
    expect(at201.length).toBe(50);

    await next(page);
    await foot(page, "10,051").waitFor();
    const at202 = await ids();
    expect(at202.filter((id) => at201.includes(id))).toEqual([]);
    const address = page.url();
    expect(new URL(address).searchParams.get("page")).toBe("202");
    expect(new URL(address).searchParams.get("cursor")).not.toBeNull();
    await next(page);
    await foot(page, "10,101").waitFor();
    const at203 = await ids();
    expect(at203.filter((id) => at202.includes(id))).toEqual([]);

    await previous(page);
    await foot(page, "10,051").waitFor();
    await expect.poll(ids).toEqual(at202);
    await page.goBack();
    await foot(page, "10,101").waitFor();
    await expect.poll(ids).toEqual(at203);
    await page.reload();
    await foot(page, "10,101").waitFor();
    expect(await ids()).toEqual(at203);
    // Without what the page remembered, the page before is found from the start. Each minute takes 60 audit queries.
    clock.advance(MINUTE_MS);
    await previous(page);
    await foot(page, "10,051").waitFor();
    await expect.poll(ids).toEqual(at202);
    await previous(page);
    await foot(page, "10,001").waitFor();
    expect(new URL(page.url()).search).toBe(`?last_day=${day}&page=201`);
    for (let from = 10_051; from < MANY; from += 50) {
      await next(page);
      await foot(page, from.toLocaleString("en")).waitFor();
    }
    await expect.poll(() => page.getByRole("button", { name: "Next page" }).isDisabled()).toBe(true);

    // A link of another hour.
    clock.advance(61 * MINUTE_MS);
    await page.goto(`${here.url}/sign-in`);
    await page.goto(address);
    await page.getByText("This link to page 202 of events is too old").waitFor();
    await page.getByRole("button", { name: "Find page 202" }).click();
    await foot(page, "10,051").waitFor();
    await expect.poll(ids).toEqual(at202);
    await page.goto(address);
    await page.getByRole("button", { name: "First page" }).click();
    await foot(page, "1").waitFor();
    expect(new URL(page.url()).search).toBe(`?last_day=${day}`);
  });
});
