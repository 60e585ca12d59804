import type { KeptMail } from "../platform/outgoing/mailbox.ts";
import { escapeHtml } from "../platform/html.ts";
import type { PlainHandler } from "./routes.ts";

const STYLE = `
  :root { color-scheme: light dark; --ink: #1d2433; --soft: #5b6578; --line: #dfe3ea; --paper: #fff; --ground: #f4f6f9; --accent: #3457d5; }
  @media (prefers-color-scheme: dark) { :root { --ink: #e8ebf2; --soft: #a0a9bb; --line: #333b4c; --paper: #1b2130; --ground: #131824; --accent: #8ea6ff; } }
  * { box-sizing: border-box }
  body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
  main { max-width: 860px; margin: 0 auto; padding: 32px 20px 64px; }
  h1 { font-size: 22px; margin: 0 0 4px; } .hint { color: var(--soft); margin: 0 0 24px; } .hint a, a { color: var(--accent); }
  details { background: var(--paper); border: 1px solid var(--line); border-radius: 10px; margin: 0 0 10px; overflow: hidden; }
  summary { display: grid; grid-template-columns: 1fr auto; gap: 2px 16px; padding: 12px 16px; cursor: pointer; list-style: none; }
  summary::-webkit-details-marker { display: none } summary b { font-weight: 600 } summary span, time { color: var(--soft); font-size: 13px }
  details[open] summary { border-bottom: 1px solid var(--line) } .body { display: grid; gap: 12px; padding: 16px; }
  iframe { width: 100%; height: 560px; border: 1px solid var(--line); border-radius: 8px; background: #fff; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; padding: 12px; border-radius: 8px; background: var(--ground); font: 13px/1.5 ui-monospace, monospace; }
  .empty { background: var(--paper); border: 1px dashed var(--line); border-radius: 10px; padding: 40px; text-align: center; color: var(--soft); }
`;

function mailHtml(mail: KeptMail, open: boolean): string {
  return `<details${open ? " open" : ""}><summary><b>${escapeHtml(mail.subject)}</b><time datetime="${mail.at.toISOString()}">${mail.at.toISOString().replace("T", " ").slice(0, 19)} UTC</time><span>to ${escapeHtml(mail.to)}</span></summary>
<div class="body"><iframe sandbox="allow-popups allow-popups-to-escape-sandbox" title="${escapeHtml(mail.subject)}" srcdoc="${escapeHtml(mail.html)}"></iframe><pre>${escapeHtml(mail.text)}</pre></div></details>`;
}

/** Renders the page at `/dev/mailbox`: each mail as a mail program shows it, newest first. */
function mailboxPage(mails: readonly KeptMail[]): string {
  const list =
    mails.length === 0
      ? `<p class="empty">No mail yet. Mails, such as magic links, appear here.</p>`
      : mails.map((mail, index) => mailHtml(mail, index === 0)).join("\n");
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Mailbox · Atrium</title><style>${STYLE}</style></head>
<body><main><h1>Mailbox</h1><p class="hint">Mails of the development profile; no mail leaves this machine. <a href="mailbox.json">As JSON</a></p>
${list}</main></body></html>`;
}

/** Renders `/dev/mailbox.json`: `to, subject, text, html, at`, newest first. */
function mailboxJson(mails: readonly KeptMail[]): string {
  return JSON.stringify(
    mails.map(({ to, subject, text, html, at }) => ({ to, subject, text, html, at: at.toISOString() })),
  );
}

/** `GET /dev/mailbox` and `/dev/mailbox.json` of the development profile. */
export function mailboxPages(list: () => Promise<KeptMail[]>): PlainHandler {
  return (request, response) => {
    const path = request.url?.split("?")[0];
    if (path !== "/dev/mailbox" && path !== "/dev/mailbox.json") return false;
    if (request.method !== "GET" && request.method !== "HEAD") return "other_method";
    const page = path === "/dev/mailbox";
    list().then(
      (mails) => {
        response.writeHead(200, {
          "content-type": page ? "text/html; charset=utf-8" : "application/json",
          "cache-control": "no-store",
        });
        response.end(request.method === "HEAD" ? undefined : page ? mailboxPage(mails) : mailboxJson(mails));
      },
      () => {
        response.writeHead(503, { "content-type": "text/plain; charset=utf-8", "retry-after": "1" });
        response.end("The mailbox cannot be read: the database is unavailable.\n");
      },
    );
    return true;
  };
}
