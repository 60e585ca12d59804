import { createHash } from "node:crypto";
import type { ServerResponse } from "node:http";
import { escapeHtml } from "../platform/outgoing/layout.ts";
import type { PlainHandler } from "./routes.ts";

/** Facts on the start page of the development profile. */
export interface Welcome {
  version: string;
  /** First owner, and where to find the password. */
  login: { email: string; org: string; password: string };
  /** Whether mails are kept at `/dev/mailbox`. */
  hasMailbox: boolean;
  /** Whether metrics are served on this port. */
  hasMetrics: boolean;
}

const STYLE = `
:root { color-scheme: light dark; --ink: #1d2433; --soft: #5b6578; --line: #dfe3ea; --paper: #fff; --ground: #f4f6f9; --accent: #3457d5; --on: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ebf2; --soft: #a0a9bb; --line: #333b4c; --paper: #1b2130; --ground: #131824; --accent: #8ea6ff; --on: #131824; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 680px; margin: 0 auto; padding: 56px 20px 72px; }
header { margin: 0 4px 28px; } h1 { margin: 0; font-size: 28px; letter-spacing: -.01em; } header p { margin: 4px 0 0; color: var(--soft); }
section { margin: 0 0 16px; padding: 22px 24px; border: 1px solid var(--line); border-radius: 14px; background: var(--paper); }
h2 { margin: 0 0 4px; font-size: 16px; } section p { margin: 0 0 14px; color: var(--soft); } section p:last-child { margin: 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 6px 18px; margin: 0 0 18px; } dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
code { font: 14px/1.5 ui-monospace, monospace; } a { color: var(--accent); }
button { padding: 10px 18px; border: 0; border-radius: 9px; background: var(--accent); color: var(--on); font: 600 15px system-ui, sans-serif; cursor: pointer; }
button:disabled { opacity: .55; cursor: default; } :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
output { display: inline-block; margin-left: 12px; color: var(--soft); }
ul { margin: 0; padding: 0; list-style: none; } li { display: grid; grid-template-columns: minmax(0, 13em) 1fr; gap: 2px 18px; padding: 9px 0; border-top: 1px solid var(--line); } li:first-child { border-top: 0; padding-top: 4px; } li:last-child { padding-bottom: 0; } li span { color: var(--soft); }
@media (max-width: 520px) { li, dl { grid-template-columns: 1fr; } }
`;

/** Requests a sign-in link and opens the mailbox. */
const SCRIPT = `
const button = document.querySelector("button"), note = document.querySelector("output");
button?.addEventListener("click", async () => {
  button.disabled = true;
  note.textContent = "Requesting …";
  try {
    const answer = await fetch("api/auth/magic-link/send", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ email: button.dataset.email }) });
    if (!answer.ok) throw new Error((await answer.json()).message);
    note.textContent = "Sent. Opening the mailbox …";
    setTimeout(() => location.assign("dev/mailbox"), 900);
  } catch (error) {
    note.textContent = error.message;
    button.disabled = false;
  }
});
`;

const hashOf = (text: string): string => createHash("sha256").update(text).digest("base64");
const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  vary: "Accept",
  "content-security-policy":
    `default-src 'none'; script-src 'sha256-${hashOf(SCRIPT)}'; style-src 'sha256-${hashOf(STYLE)}'; connect-src 'self'; ` +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
};

/** Returns useful paths with a description. */
function linksOf({ hasMailbox, hasMetrics }: Welcome): [path: string, about: string][] {
  return [
    ...(hasMailbox
      ? ([["/dev/mailbox", "mails that were sent; no mail leaves this machine"]] satisfies [string, string][])
      : []),
    ["/readyz", "state of the service and its dependencies"],
    ["/.well-known/jwks.json", "public keys of the instance"],
    ...(hasMetrics ? ([["/metrics", "metrics for Prometheus"]] satisfies [string, string][]) : []),
  ];
}

function pageOf(welcome: Welcome): string {
  const { version, login, hasMailbox } = welcome;
  const ask = `<button data-email="${escapeHtml(login.email)}">Mail a sign-in link</button><output aria-live="polite"></output>`;
  const links = linksOf(welcome)
    .map(([path, about]) => `<li><a href="${path.slice(1)}"><code>${path}</code></a><span>${about}</span></li>`)
    .join("");
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Atrium</title><style>${STYLE}</style></head>
<body><main><header><h1>Atrium</h1><p>Version ${escapeHtml(version)}, development profile. The API is ready.</p></header>
<section><h2>First login</h2><p>Owner of the first organization; also platform admin and operator.</p>
<dl><dt>Organization</dt><dd>${escapeHtml(login.org)}</dd><dt>Email</dt><dd>${escapeHtml(login.email)}</dd><dt>Password</dt><dd>${escapeHtml(login.password)}</dd></dl>${hasMailbox ? ask : ""}</section>
<section><h2>Links</h2><ul>${links}</ul></section>
<section><h2>Next</h2><p><code>docs/</code> has tours of identity, the marketplace and webhooks. <code>npm run demo</code> runs the main scenario against this service.</p></section>
</main><script>${SCRIPT}</script></body></html>`;
}

/** Whether a client prefers a page to JSON; a client that accepts anything gets JSON. */
function prefersPage(accept: string | undefined): boolean {
  const quality = (type: string): number => {
    const entry = (accept ?? "").split(",").find((one) => one.trim().split(";")[0]?.trim().toLowerCase() === type);
    return entry === undefined ? -1 : Number(/;\s*q=([\d.]+)/.exec(entry)?.[1] ?? 1);
  };
  return quality("text/html") > Math.max(0, quality("application/json"));
}

/** `GET /` of the development profile: a page, or JSON for programs. */
export function welcomePage(welcome: Welcome): PlainHandler {
  const { version, login } = welcome;
  const links = Object.fromEntries(
    linksOf(welcome).map(([path]) => [path.slice(1).replace(/^dev\/|^\.well-known\/|\.json$/g, ""), path]),
  );
  const json = JSON.stringify({
    name: "atrium",
    version,
    profile: "development",
    first_login: { email: login.email, org_name: login.org },
    links,
  });
  return (request, rawResponse) => {
    // The response of HTTP/2 has the same two methods.
    const response = rawResponse as ServerResponse;
    if (request.url?.split("?")[0] !== "/" || (request.method !== "GET" && request.method !== "HEAD")) return false;
    const page = prefersPage(request.headers.accept);
    response.writeHead(200, page ? HEADERS : { ...HEADERS, "content-type": "application/json" });
    response.end(request.method === "HEAD" ? undefined : page ? pageOf(welcome) : json);
    return true;
  };
}
