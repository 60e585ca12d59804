import { createContext, runInContext } from "node:vm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, mailsTo, outcome } from "../support/people.ts";

let app: TestApp;
let closed: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1", SERVICE_MAGIC_LINK_DEV_ECHO: "1" } });
  closed = await startApp({
    databaseUrl: app.databaseUrl,
    clock: app.clock,
    env: { SERVICE_CORS_ORIGINS: "https://app.example.com", SERVICE_MAGIC_LINK_DEV_ECHO: "1" },
  });
});
afterAll(async () => {
  await closed.close();
  await app.close();
});

const pages = ["/magic-link", "/confirm-email", "/disown-email", "/reset-password", "/step-up", "/invite"];

/** One element of a page, with the members that its script uses. */
class Element {
  textContent = "";
  className = "";
  value = "";
  hidden = false;
  disabled = false;
  href = "";
  rel = "";
  dataset: Record<string, string> = {};
  children: Element[] = [];
  classList = { add: () => undefined };
  listener: (event: unknown) => Promise<void> = () => Promise.resolve();
  append(...children: (Element | string)[]): void {
    this.children.push(...children.filter((child) => typeof child !== "string"));
  }
  before(): void {}
  focus(): void {}
  addEventListener(_type: string, listener: (event: unknown) => Promise<void>): void {
    this.listener = listener;
  }
}

/** Opens the page of a mailed link the way a browser does; `press` presses its button. */
async function open(at: TestApp, path: string) {
  const { text: html } = await at.call("GET", path);
  const element: Record<string, Element> = {
    main: new Element(),
    form: new Element(),
    h1: new Element(),
    p: new Element(),
    button: new Element(),
    output: new Element(),
  };
  for (const [, name = "", value = ""] of html.matchAll(/ data-([a-z-]+)="([^"]*)"/gu)) {
    const key = name.replaceAll(/-([a-z])/gu, (_all, letter: string) => letter.toUpperCase());
    element["form"]!.dataset[key] = value.replaceAll("&quot;", '"');
  }
  const url = new URL(path, "http://atrium.test");
  const page = createContext({
    URL,
    URLSearchParams,
    location: url,
    history: { replaceState: () => undefined },
    document: {
      querySelector: (name: string) => element[name],
      querySelectorAll: () => [],
      createElement: () => new Element(),
    },
    fetch: (to: string, init: RequestInit) => fetch(new URL(to, at.url), init),
  });
  runInContext(/<script>([\s\S]*)<\/script>/u.exec(html)?.[1] ?? "", page);
  const { main, form, p, output } = element as Record<"main" | "form" | "p" | "output", Element>;
  return {
    press: () => form.listener({ preventDefault: () => undefined }),
    said: () => `${p.textContent} ${output.textContent}`,
    leads: () => main.children.map(({ href, rel, textContent }) => ({ href, rel, textContent })),
  };
}

async function link(at: TestApp, redirectTo: string): Promise<string> {
  const { body } = await at.call("POST", "/api/auth/magic-link/send", {
    body: { email: "lands@mail.test", redirect_to: redirectTo },
  });
  return `/magic-link?token=${body.dev_token}`;
}

describe("The pages that mailed links open", () => {
  it.each(pages)("the page %s loads and runs nothing but itself, cannot be framed and is not cached", async (path) => {
    const { status, headers, text } = await app.call("GET", `${path}?token=<script>x`);
    expect(status).toBe(200);
    expect(headers.get("content-security-policy")?.split("; ")).toEqual([
      "default-src 'none'",
      expect.stringMatching(/^script-src 'sha256-[^' ]+'$/u),
      expect.stringMatching(/^style-src 'sha256-[^' ]+'$/u),
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ]);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(text).not.toMatch(/<script>x|\ssrc=|https?:\/\/(?!atrium\.test)| on[a-z]+=| style=/u);
  });

  it("a page changes nothing when opened, only when the button is pressed", async () => {
    const who = await founder(app);
    const path =
      /http:\/\/atrium\.test(\/disown-email\?token=[\w-]+)/u.exec(
        (await mailsTo(app, who.email)).at(-1)?.text ?? "",
      )?.[1] ?? "";
    for (const method of ["GET", "HEAD"]) expect((await app.call(method, path)).status).toBe(200);
    expect(outcome(await app.call("POST", path, { body: {} }))).toBe("404 not_found");
    const page = await open(app, path);
    expect(outcome(await app.call("GET", "/api/auth/me", { token: who.token }))).toBe("200");
    await page.press();
    expect(page.said()).toContain("The account has ended");
    expect(outcome(await app.call("GET", "/api/auth/me", { token: who.token }))).toBe("401 unauthorized");
  });

  it.each([
    ["the service's own", "http://atrium.test/welcome", "atrium.test"],
    ["an origin browsers may call from", "https://app.example.com/home?x=1", "app.example.com"],
  ])("a page continues to %s by a link that shows the host", async (_what, goal, host) => {
    const page = await open(closed, await link(closed, goal));
    await page.press();
    expect(page.leads()).toEqual([{ href: goal, rel: "noreferrer", textContent: `Continue to ${host}` }]);
  });

  it.each([
    "https://evil.example/x",
    "https://app.example.com.evil.example/",
    "http://app.example.com/",
    "https://app.example.com:8443/",
    "http://127.0.0.1:3000/",
  ])("a page does not continue to %s and shows its host", async (goal) => {
    const page = await open(closed, await link(closed, goal));
    await page.press();
    expect(page.said()).toContain(`The link names ${new URL(goal).host}, which this service does not know`);
    expect(page.leads()).toEqual([]);
  });

  it("a page continues to loopback in development, and not to hosts that only look like it", async () => {
    for (const [goal, links] of [
      ["http://localhost:3000/x", 1],
      ["http://127.0.0.1:9/", 1],
      ["http://[::1]:9/", 1],
      ["http://127.0.0.1.evil.example/", 0],
      ["http://localhost.evil.example/", 0],
    ] as const) {
      const page = await open(app, await link(app, goal));
      await page.press();
      expect(page.leads(), goal).toHaveLength(links);
      app.clock.advance(600_000);
    }
  });

  it("verify returns the redirect of its link unchanged, wherever it leads", async () => {
    const { body: sent } = await app.call("POST", "/api/auth/magic-link/send", {
      body: { email: "echo@mail.test", redirect_to: "https://evil.example/x" },
    });
    expect(
      (await app.call("POST", "/api/auth/magic-link/verify", { body: { token: sent.dev_token } })).body.redirect_to,
    ).toBe("https://evil.example/x");
  });

  it.each([
    "javascript:alert(1)",
    "data:text/html,x",
    "//evil.example",
    "ftp://x.example",
    "https://user:pw@x.example/",
    "x",
  ])("a mailed link cannot be requested with a redirect to %s", async (goal) => {
    expect(
      outcome(
        await app.call("POST", "/api/auth/magic-link/send", { body: { email: "a@mail.test", redirect_to: goal } }),
      ),
    ).toBe("400 bad_request");
  });
});
