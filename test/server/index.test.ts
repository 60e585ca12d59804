import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DOORS } from "../../src/server/static/console.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";

const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const SCRIPT = "console.log(1);".repeat(50);

/** Writes what a build writes. */
function writeBuild(folder: string): void {
  const assets = join(folder, "console", "assets");
  mkdirSync(assets, { recursive: true });
  writeFileSync(join(assets, "index-abcd1234.js"), SCRIPT);
  writeFileSync(join(assets, "index-abcd1234.js.gz"), gzipSync(SCRIPT));
  writeFileSync(join(assets, "both-abcd1234.js.br"), brotliCompressSync(SCRIPT));
  writeFileSync(join(assets, "both-abcd1234.js.gz"), gzipSync(SCRIPT));
  writeFileSync(join(folder, "index.html"), "<!doctype html><html><head><title>x</title></head><body></body></html>");
}

const folder = mkdtempSync(join(tmpdir(), "atrium-console-"));
let app: TestApp;
let bare: TestApp;
beforeAll(async () => {
  writeBuild(folder);
  app = await startApp({ consoleFolder: folder, env: { SERVICE_BASE_URL: "https://id.example.com/atrium" } });
  bare = await startApp({ consoleFolder: folder, env: { SERVICE_CONSOLE: "off" } });
});
afterAll(async () => {
  await app.close();
  await bare.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("GET /", () => {
  it("GET / returns JSON to a program", async () => {
    for (const accept of [undefined, "*/*", "application/json", "text/html;q=0.5, application/json"]) {
      const { status, headers, body } = await app.call("GET", "/", accept === undefined ? {} : { headers: { accept } });
      expect(status).toBe(200);
      expect(headers.get("vary")).toBe("Origin, Accept");
      expect(body).toMatchObject({
        name: "atrium",
        first_login: { email: "owner@acme.test" },
        links: {
          console: "/atrium/console",
          docs: "/atrium/docs",
          openapi: "/atrium/openapi.json",
          jwks: "/atrium/.well-known/jwks.json",
          health: "/atrium/healthz",
          mailbox: "/atrium/dev/mailbox",
        },
      });
    }
  });

  it("GET / returns the start page to a browser", async () => {
    const { status, headers, text } = await app.call("GET", "/", { headers: { accept: BROWSER } });
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(text).toContain("owner@acme.test");
  });

  it("GET / of a service without a path in its public URL returns links from the root", async () => {
    const { links } = (await bare.call("GET", "/")).body;
    expect(links).toMatchObject({ docs: "/docs", health: "/healthz", jwks: "/.well-known/jwks.json" });
  });

  it("the mailbox links to its JSON below any path", async () => {
    const { text } = await app.call("GET", "/dev/mailbox");
    const [, target = ""] = /href="([^"]*)">As JSON/u.exec(text) ?? [];
    expect(new URL(target, "https://id.example.com/atrium/dev/mailbox").pathname).toBe("/atrium/dev/mailbox.json");
  });

  it("other methods than GET on / return 405", async () => {
    expect((await app.call("POST", "/", { body: {} })).status).toBe(405);
  });
});

describe("the pages", () => {
  it("every door and every path of the console is the same document, with the prefix of the public URL", async () => {
    for (const path of [...DOORS, "/console", "/console/members", "/console/installs/x?y=1"]) {
      const { status, headers, text } = await app.call("GET", path);
      expect(status, path).toBe(200);
      expect(text, path).toContain('<base href="/atrium/">');
      expect(headers.get("cache-control"), path).toBe("no-store");
    }
  });

  it.each(["/", ...DOORS, "/console", "/console/members", "/console/nothing"])(
    "%s has the headers that keep a browser from running anything else",
    async (path) => {
      const { headers } = await app.call("GET", path, { headers: { accept: BROWSER } });
      expect(headers.get("content-security-policy")).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; " +
          "connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'self'; frame-ancestors 'none'; " +
          "require-trusted-types-for 'script'; trusted-types 'none'",
      );
      expect(headers.get("referrer-policy")).toBe("no-referrer");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("cross-origin-opener-policy")).toBe("same-origin");
      expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
      expect(headers.get("strict-transport-security")).toContain("max-age=");
      expect(headers.get("permissions-policy")).toContain("camera=()");
      expect(headers.get("cache-control")).toBe("no-store");
    },
  );

  it("the preview of templates has a policy of its own and runs in a sandbox", async () => {
    const { headers } = await app.call("GET", "/console/preview");
    const policy = headers.get("content-security-policy");
    expect(policy).toMatch(
      /^default-src 'none'; script-src 'sha256-[\w+/=]+'; style-src 'unsafe-inline'; img-src data:/u,
    );
    expect(policy).toContain("sandbox allow-scripts");
  });

  it("HEAD on a page has the headers and no body, and POST is not allowed", async () => {
    const { status, text } = await app.call("HEAD", "/console");
    expect([status, text]).toEqual([200, ""]);
    expect((await app.call("POST", "/console", { body: {} })).body).toMatchObject({
      code: "method_not_allowed",
    });
  });

  it("other spellings of a door are unknown routes", async () => {
    for (const path of ["/sign-in/", "/Sign-In", "/sign-in/other", "/consoles", "/api/console"])
      expect((await app.call("GET", path)).body, path).toMatchObject({ code: "not_found" });
  });

  it("without a build a page says that the console is being built, and refreshes itself", async () => {
    const later = mkdtempSync(join(tmpdir(), "atrium-console-"));
    const other = await startApp({ consoleFolder: later });
    try {
      const { status, headers, text } = await other.call("GET", "/console");
      expect(status).toBe(503);
      expect(headers.get("retry-after")).toBe("2");
      expect(text).toContain("Building the console");
      writeBuild(later);
      expect((await other.call("GET", "/console")).status).toBe(200);
    } finally {
      await other.close();
      rmSync(later, { recursive: true, force: true });
    }
  });

  it("where nobody builds the console, a page says what the operator has to do and does not refresh", async () => {
    const missing = await startApp({ consoleFolder: "/nonexistent", isConsoleBuilding: false });
    try {
      const { status, text } = await missing.call("GET", "/invite");
      expect(status).toBe(503);
      expect(text).toContain("npm run build:console");
      expect(text).not.toContain("refresh");
    } finally {
      await missing.close();
    }
  });

  it("SERVICE_CONSOLE=off serves the API alone", async () => {
    for (const path of ["/console", "/sign-in", "/magic-link", "/console/assets/index-abcd1234.js"])
      expect((await bare.call("GET", path)).body, path).toMatchObject({ code: "not_found" });
    const { body } = await bare.call("GET", "/", { headers: { accept: BROWSER } });
    expect(body).toMatchObject({ name: "atrium" });
    expect(body.links).not.toHaveProperty("console");
  });
});

describe("the assets", () => {
  const asset = "/console/assets/index-abcd1234.js";

  it("an asset is immutable, and compressed for those who accept it", async () => {
    const { status, headers, text } = await app.call("GET", asset);
    expect(status).toBe(200);
    expect(text).toBe(SCRIPT);
    expect(headers.get("content-encoding")).toBe("gzip");
    expect(headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(headers.get("vary")).toBe("Origin, Accept-Encoding");
  });

  it("an asset is sent as it is to those who accept no encoding", async () => {
    for (const accepted of ["identity", "gzip;q=0, br;q=0.0"]) {
      const { headers, text } = await app.call("GET", asset, { headers: { "accept-encoding": accepted } });
      expect(headers.get("content-encoding")).toBeNull();
      expect(text).toBe(SCRIPT);
    }
  });

  it("an asset has the encoding that its client prefers", async () => {
    const chosen = async (accepted: string): Promise<string | null> => {
      const headers = { "accept-encoding": accepted };
      return (await app.call("GET", "/console/assets/both-abcd1234.js", { headers })).headers.get("content-encoding");
    };
    expect(await chosen("gzip, br")).toBe("br");
    expect(await chosen("br;q=0.5, gzip")).toBe("gzip");
    expect(await chosen("*")).toBe("br");
    expect(await chosen("br;q=0, *;q=0.1")).toBe("gzip");
    expect(await chosen("x-gzip")).toBe("gzip");
  });

  it("names that lead out of the folder, or that no build gives, are unknown routes", async () => {
    for (const name of [
      "..%2f..%2findex.html",
      "../../index.html",
      "index.html",
      "index-abcd1234.js.gz",
      "x-abcd1234.js",
    ])
      expect((await app.call("GET", `/console/assets/${name}`)).text, name).not.toContain("console.log");
    expect((await app.call("GET", "/console/assets/x-abcd1234.js")).body).toMatchObject({ code: "not_found" });
  });
});
