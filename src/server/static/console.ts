import { readFileSync } from "node:fs";
import { join } from "node:path";
import { escapeHtml } from "../../platform/html.ts";
import { basePath } from "../../platform/base-path.ts";
import { varying } from "../../transcoding/index.ts";
import type { CorsOrigins } from "../cors.ts";
import type { PlainHandler } from "../routes.ts";
import { createAssets } from "./assets.ts";
import { pageHeaders } from "./headers.ts";
import { PREVIEW_PAGE, PREVIEW_POLICY } from "./preview.ts";

/** Where the built console is, and the settings of its pages. */
export interface ConsoleOptions {
  /** Folder of the build; it may appear while the service runs. */
  folder: string;
  /** Whether a build that is missing is being made. */
  isBuilding: () => boolean;
  /** Public URL of the service; its path is the prefix of every link. */
  baseUrl: string;
  /** Settings that the pages read from a `meta` element. */
  settings: ConsoleSettings;
}

/** What the pages of the console have to know before they call the service. */
export interface ConsoleSettings {
  version: string;
  baseUrl: string;
  idleMs: number;
  openSignup: boolean;
  /** Where a sign-in may lead besides the public URL: the origins of CORS, or any of the person's own machine. */
  origins: CorsOrigins;
  /** Whether mails are kept at `/dev/mailbox`. */
  mailbox: boolean;
  /** The first login of the development profile. */
  firstLogin?: { email: string; org: string; password: string } | undefined;
}

/** Pages for those who are not signed in; the links in mails open them. */
export const DOORS: readonly string[] = [
  "/sign-in",
  "/sign-in/code",
  "/sign-in/second-factor",
  "/magic-link",
  "/invite",
  "/forgot-password",
  "/reset-password",
  "/confirm-email",
  "/disown",
  // The links of mails sent before this path was renamed.
  "/disown-email",
  "/step-up",
  "/sign-up",
];

const ASSETS = "/console/assets/";

/** Page of a console that is not there: while it is built, and where only the operator can act. */
const page = (title: string, text: string, head = ""): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
  `${head}<title>${title} · Atrium</title></head><body><main><h1>${title}</h1><p>${text}</p></main></body></html>`;

const BUILDING = page(
  "Building the console",
  "This page refreshes itself. The API is ready.",
  '<meta http-equiv="refresh" content="2">',
);

const NOT_BUILT = page(
  "The console is not installed",
  "The operator of this service has to run <code>npm run build:console</code> in its program folder. Then open this " +
    "page again: the link that led here still works until it expires. The API is ready.",
);

/** Whether a client prefers a page to JSON; a client that accepts anything gets JSON. */
function prefersPage(accept: string | undefined): boolean {
  const quality = (type: string): number => {
    const entry = (accept ?? "").split(",").find((one) => one.trim().split(";")[0]?.trim().toLowerCase() === type);
    return entry === undefined ? -1 : Number(/;\s*q=([\d.]+)/.exec(entry)?.[1] ?? 1);
  };
  return quality("text/html") > Math.max(0, quality("application/json"));
}

/** Serves the console: its assets, and one document for all its pages and for `/`. */
export function consolePages({ folder, isBuilding, baseUrl, settings }: ConsoleOptions): PlainHandler {
  const { protocol } = new URL(baseUrl);
  const headers = pageHeaders(protocol === "https:");
  const assetOf = createAssets(folder);
  const doors = new Set(DOORS);
  const head =
    `<head><base href="${escapeHtml(basePath(baseUrl))}">` +
    `<meta name="atrium" content="${escapeHtml(JSON.stringify(settings))}">`;
  let document: string | undefined;

  function read(): string | undefined {
    try {
      document ??= readFileSync(join(folder, "index.html"), "utf8").replace("<head>", () => head);
    } catch {
      // The build is not complete yet.
    }
    return document;
  }

  return (request, response) => {
    const path = request.url?.split("?")[0] ?? "";
    const send = (status: number, sent: Record<string, string>, body: string | Buffer): true | "other_method" => {
      if (request.method !== "GET" && request.method !== "HEAD") return "other_method";
      const vary = sent["vary"] === undefined ? {} : { vary: varying(response, sent["vary"]) };
      response.writeHead(status, { ...sent, ...vary, "content-length": String(Buffer.byteLength(body)) });
      response.end(request.method === "HEAD" ? undefined : body);
      return true;
    };
    if (path.startsWith(ASSETS)) {
      const { "accept-encoding": accepted } = request.headers;
      const asset = assetOf(path.slice(ASSETS.length), Array.isArray(accepted) ? accepted.join() : accepted);
      return asset !== undefined && send(200, asset.headers, asset.body);
    }
    if (path === "/console/preview") return send(200, pageHeaders(protocol === "https:", PREVIEW_POLICY), PREVIEW_PAGE);
    const isPage =
      path === "/console" ||
      path.startsWith("/console/") ||
      doors.has(path) ||
      (path === "/" && prefersPage(request.headers.accept));
    if (!isPage) return false;
    const sent = path === "/" ? { ...headers, vary: "Accept" } : headers;
    const html = read();
    if (html !== undefined) return send(200, sent, html);
    return isBuilding()
      ? send(503, { ...sent, "retry-after": "2" }, BUILDING)
      : send(503, { ...sent, "retry-after": "60" }, NOT_BUILT);
  };
}
