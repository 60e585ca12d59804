import { randomBytes } from "node:crypto";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import type { HostileProvider } from "../oidc/hostile-provider.ts";
import { freePort } from "../support/postgres.ts";
import type { Surroundings } from "./browser.ts";

/** Settings of a service whose public URL, to which mails and providers send browsers, is that of the test. */
export async function publicUrl(): Promise<{ PORT: string; SERVICE_BASE_URL: string }> {
  const port = String(await freePort());
  return { PORT: port, SERVICE_BASE_URL: `http://127.0.0.1:${port}` };
}

export const PASSWORD = "correct horse battery";

/** Somebody who signs in by password. */
export interface Person {
  email: string;
  org: string;
  password: string;
}

/** Lets a provider sign in at once whoever comes to it in a browser, and send them back. */
export function sendBack(provider: HostileProvider): void {
  provider.answers.set("/authorize", (request, response) => {
    const { code, params } = provider.authorize(`${provider.issuer}${request.url ?? ""}`);
    const query = new URLSearchParams({ code, state: params.get("state") ?? "" });
    response.writeHead(302, { location: `${params.get("redirect_uri")}?${query.toString()}` }).end();
  });
}

/** What people do at the doors of the console. */
export function doors(here: Surroundings) {
  /** Waits for a page. */
  const heading = (page: Page, name: string): Promise<void> =>
    page.getByRole("heading", { level: 1, name, exact: true }).waitFor();

  /** The link to a path in the newest mail to an address, as soon as there is one. */
  async function mailed(email: string, path: string): Promise<string> {
    let link: string | undefined;
    await expect
      .poll(async () => {
        const { text } = await here.app.mailTo(email);
        link = new RegExp(String.raw`http://127\.0\.0\.1:\d+(${path}#\S+)`, "u").exec(text)?.[1];
        return link;
      })
      .toBeDefined();
    return link ?? "";
  }

  /** The owner of an organization of their own. */
  async function founder(): Promise<Person> {
    const name = randomBytes(4).toString("hex");
    const who = { email: `${name}@people.test`, org: `Org ${name}`, password: PASSWORD };
    const { status } = await here.app.call("POST", "/api/organizations", {
      body: { name: who.org, email: who.email, password: PASSWORD, first_name: "Ada" },
    });
    expect(status).toBe(201);
    return who;
  }

  /** Sends the form of the sign-in page. */
  async function answerDoor(page: Page, { email, org, password }: Person): Promise<void> {
    await page.getByLabel("Organization").fill(org);
    await page.getByLabel("Email", { exact: true }).fill(email);
    await page.getByLabel("Password", { exact: true }).fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
  }

  /** Signs in by password, up to what the sign-in page asks then. */
  async function enter(who: Person): Promise<Page> {
    const page = await here.open("/sign-in");
    await answerDoor(page, who);
    return page;
  }

  return { heading, mailed, founder, answerDoor, enter };
}
