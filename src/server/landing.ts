import { createHash } from "node:crypto";
import type { ServerResponse } from "node:http";
import { escapeHtml } from "../platform/outgoing/layout.ts";
import { SCRIPT, STYLE } from "./landing-assets.ts";
import { LANDINGS } from "./landing-pages.ts";
import type { Landing } from "./landing-pages.ts";
import type { PlainHandler } from "./routes.ts";

/** Where a page may redirect after a sign-in: the `redirect_to` of the link must have one of these origins. */
export interface Destinations {
  /** Public URL of the service. */
  baseUrl: string;
  /** Origins that browsers may call from; `loopback`: any origin of this machine. */
  corsOrigins: readonly string[] | "loopback";
}

const scriptHash = createHash("sha256").update(SCRIPT).digest("base64");
const styleHash = createHash("sha256").update(STYLE).digest("base64");
const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "content-security-policy": `default-src 'none'; script-src 'sha256-${scriptHash}'; style-src 'sha256-${styleHash}'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
};

function pageOf(
  { title, text, button, grave = false, action, doneTitle, done, fields = [], about = "" }: Landing,
  { baseUrl, corsOrigins }: Destinations,
): string {
  const inputs = fields
    .map(({ name, label, input }) => `<label>${label}<input ${input} name="${name}" data-field></label>`)
    .join("");
  const origins = JSON.stringify([new URL(baseUrl).origin, ...(corsOrigins === "loopback" ? [] : corsOrigins)]);
  const data = Object.entries({
    action,
    about,
    "done-title": doneTitle,
    done,
    origins,
    loopback: String(corsOrigins === "loopback"),
  });
  const attributes = data.map(([name, value]) => `data-${name}="${escapeHtml(value)}"`).join(" ");
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex"><title>${title} · Atrium</title><style>${STYLE}</style></head>
<body><header>Atrium</header><main><h1>${title}</h1><p>${text}</p><form ${attributes}>${inputs}<button${grave ? ` class="grave"` : ""}>${button}</button></form><output aria-live="polite"></output><noscript>This page needs JavaScript.</noscript></main><script>${SCRIPT}</script></body></html>`;
}

/** Serves the pages that mailed links open. */
export function landingPages(destinations: Destinations): PlainHandler {
  return (request, rawResponse) => {
    const landing = LANDINGS[request.url?.split("?")[0] ?? ""];
    if (landing === undefined || (request.method !== "GET" && request.method !== "HEAD")) return false;
    // The response of HTTP/2 has the same two methods.
    const response = rawResponse as ServerResponse;
    response.writeHead(200, HEADERS);
    response.end(request.method === "HEAD" ? undefined : pageOf(landing, destinations));
    return true;
  };
}
