import { mkdirSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { signedIn } from "../clients/support.ts";
import { root } from "../shape/sources.ts";
import { testClock } from "../support/clock.ts";
import { openMarket } from "../support/market.ts";
import { describeInBrowser, surroundings } from "./browser.ts";
import { seedOrganization } from "./seed.ts";

const FOLDER = join(root, "docs/images");
const LARGEST_BYTES = 150_000;
const DAY_MS = 86_400_000;
const DAYS = 6;

/** Sign-ins, failures and meter events of each day. */
const TRAFFIC = [
  [3, 1, 180],
  [5, 0, 240],
  [4, 2, 210],
  [7, 1, 320],
  [6, 0, 290],
  [8, 3, 410],
  [5, 1, 260],
] as const;

/** Those who accepted their invitations. */
const COLLEAGUES = [
  ["ada@acme.test", "Ada", "Lovelace"],
  ["grace@acme.test", "Grace", "Hopper"],
] as const;

describeInBrowser("the pictures of the guides", () => {
  const clock = testClock(Date.now() - DAYS * DAY_MS);
  const here = surroundings({ SERVICE_RATE_LIMITS: "off" }, "all", undefined, clock);

  /** A week of an organization, told through the contract; resolves to the ids that pages are opened by. */
  async function liveAWeek(): Promise<{ installId: string; webhookId: string }> {
    const { app } = here;
    const receiver = createServer((_request, response) => response.writeHead(204).end());
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/events`;
    const { webhookId } = await seedOrganization(app, url);
    const { atrium } = await signedIn(app);
    await atrium.users.updateProfile({ firstName: "Olive" });
    for (const [email, firstName, lastName] of COLLEAGUES) await accept(email, firstName, lastName);
    await atrium.billing.createMeter({ name: "API calls", eventName: "api.call", unit: "calls", aggregation: "sum" });
    for (const [day, [successes, failures, calls]] of TRAFFIC.entries()) {
      for (let nth = 0; nth < successes; nth++) await app.login();
      for (let nth = 0; nth < failures; nth++) await app.login(undefined, "a wrong password").catch(() => undefined);
      const own = await signedIn(app);
      await own.atrium.billing.recordEvents({ id: `day-${day}`, eventName: "api.call", value: calls });
      if (day < DAYS) clock.advance(DAY_MS);
    }
    clock.set(Date.now());
    const now = await signedIn(app);
    const market = await openMarket(app);
    try {
      const { install } = await market.offer((_call, nth) =>
        nth === 1 ? { status: 503 } : { status: 200, body: { endpoint_url: "https://orbit.example" } },
      );
      const installId = ((await install()).body as { install_id: string }).install_id;
      await market.until(installId, "active");
      await now.atrium.webhooks.testWebhook({ webhookId });
      await expect
        .poll(async () => (await now.atrium.webhooks.listDeliveries({ webhookId })).data.map(({ status }) => status))
        .not.toContain("pending");
      return { installId, webhookId };
    } finally {
      await market.close();
      receiver.close();
    }
  }

  async function accept(email: string, firstName: string, lastName: string): Promise<void> {
    const token = /token=([\w-]+)/u.exec((await here.app.mailTo(email)).text)?.[1];
    const { status, text } = await here.app.call("POST", "/api/auth/invite/accept", {
      body: {
        token,
        first_name: firstName,
        last_name: lastName,
        username: firstName.toLowerCase(),
        password: "correct horse battery",
      },
    });
    expect(status, text).toBe(200);
  }

  async function take(page: Page, name: string): Promise<void> {
    await page.getByRole("heading", { level: 1 }).waitFor();
    await expect.poll(() => page.locator('[aria-busy="true"]').count()).toBe(0);
    await page.waitForLoadState("load");
    const path = join(FOLDER, `${name}.png`);
    await page.screenshot({ path, animations: "disabled" });
    expect(statSync(path).size, name).toBeLessThanOrEqual(LARGEST_BYTES);
  }

  it("ten main pages are taken, the first also in dark", async () => {
    mkdirSync(FOLDER, { recursive: true });
    const { installId, webhookId } = await liveAWeek();
    const pages = [
      ["overview", ""],
      ["members", "members"],
      ["audit", "audit"],
      ["keys", "keys"],
      ["vault", "vault"],
      ["api-keys", "api-keys"],
      ["webhook", `webhooks/${webhookId}`],
      ["identities", "identities"],
      ["install", `installs/${installId}`],
    ] as const;
    for (const colorScheme of ["light", "dark"] as const) {
      const page = await here.open("/sign-in", { colorScheme, viewport: { width: 1200, height: 760 } });
      if (colorScheme === "light") await take(page, "sign-in");
      await here.signIn(page);
      for (const [name, path] of pages) {
        if (colorScheme === "dark" && name !== "overview") continue;
        await page.goto(`${here.url}/console/${path}`);
        await take(page, colorScheme === "light" ? name : `${name}-dark`);
      }
    }
  });
});
