import { createHash } from "node:crypto";
import type { ServiceError } from "../platform/errors.ts";
import { escapeHtml } from "../platform/html.ts";
import { negotiate } from "../transcoding/index.ts";
import type { PrintedError } from "../transcoding/index.ts";
import { STYLE } from "./page-style.ts";

const MORE = `
main p:last-of-type { margin-bottom: 0; } main p + p { margin-top: -12px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 16px; margin: 28px 0 0; padding-top: 20px; border-top: 1px solid var(--line); font-size: 13px; color: var(--soft); }
dd { margin: 0; font-family: ui-monospace, monospace; overflow-wrap: anywhere; }`;
const style = STYLE + MORE;

const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "content-security-policy": `default-src 'none'; style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
};

/** Whether a client wants a page rather than JSON: a browser that opened the route itself, and no script. */
export function prefersPage(accept: string | undefined): boolean {
  return negotiate(accept, ["application/json", "text/html"]) === "text/html";
}

/** What a person can do about an error, after its message. */
function adviceFor(status: number): string {
  if (status === 429 || status === 503) return "Wait a little, go back to the application and try again.";
  const again = "Go back to the application and start again.";
  return `${again} If it fails again, show this page to an administrator of your organization.`;
}

/** What went wrong. The errors that the message of a validation error points to are in its place. */
function problemOf({ fields = [], message }: ServiceError): string {
  if (fields.length === 0) return message;
  return `The address of this page is wrong: ${fields.map((one) => `${one.field} ${one.message}`).join("; ")}.`;
}

/**
 * An error as a page for a person: what went wrong, what to do, and what an administrator finds it by in the log.
 * Nothing of the request is repeated, since its query has codes and states.
 */
export function printErrorPage(
  error: ServiceError,
  { title, requestId }: { title: string; requestId: string },
  headers: Readonly<Record<string, string>>,
): PrintedError {
  const facts = [
    ["Code", error.code],
    ["Request", requestId],
  ].map(([name = "", value = ""]) => `<dt>${name}</dt><dd>${escapeHtml(value)}</dd>`);
  const body = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex"><title>${escapeHtml(title)} · Atrium</title><style>${style}</style></head>
<body><header>Atrium</header><main><h1>${escapeHtml(title)}</h1><p>${escapeHtml(problemOf(error))}</p><p>${adviceFor(error.status)}</p><dl>${facts.join("")}</dl></main></body></html>`;
  return { status: error.status, headers: { ...headers, ...HEADERS }, body };
}
