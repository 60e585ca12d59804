import { escapeHtml } from "../../platform/html.ts";

/** The style sheet of the documents, served at `/docs/style.css`. */
export const STYLE = `
:root { color-scheme: light dark; --ink: #1d2433; --soft: #5b6578; --line: #dfe3ea; --paper: #fff; --ground: #f4f6f9; --accent: #3457d5; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8ebf2; --soft: #a0a9bb; --line: #333b4c; --paper: #1b2130; --ground: #131824; --accent: #8ea6ff; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.6 system-ui, sans-serif; }
a { color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
body > header { border-bottom: 1px solid var(--line); background: var(--paper); }
body > header nav { display: flex; flex-wrap: wrap; gap: 4px 20px; max-width: 820px; margin: 0 auto; padding: 14px 20px; }
body > header nav a:first-child { font-weight: 600; color: var(--ink); text-decoration: none; margin-right: auto; }
main { max-width: 820px; margin: 0 auto; padding: 28px 20px 72px; }
h1 { font-size: 30px; line-height: 1.25; letter-spacing: -.01em; margin: 12px 0 16px; }
h2 { font-size: 21px; margin: 36px 0 8px; } h3 { font-size: 17px; margin: 28px 0 6px; }
p, ul, ol { margin: 0 0 14px; }
code { font: 14px/1.5 ui-monospace, monospace; background: var(--paper); border: 1px solid var(--line); border-radius: 5px; padding: 1px 4px; overflow-wrap: anywhere; }
pre { margin: 0 0 18px; padding: 14px 16px; border: 1px solid var(--line); border-radius: 10px; background: var(--paper); overflow-x: auto; }
pre code { border: 0; padding: 0; overflow-wrap: normal; }
table { display: block; width: 100%; margin: 0 0 18px; border-collapse: collapse; overflow-x: auto; }
th, td { padding: 7px 14px 7px 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 8px 22px; margin: 0 0 22px; }
dt { color: var(--soft); } dd { margin: 0; min-width: 0; }
.cards { padding: 0; list-style: none; display: grid; gap: 10px; }
.cards li { padding: 14px 18px; border: 1px solid var(--line); border-radius: 10px; background: var(--paper); }
.cards span { display: block; color: var(--soft); }
@media (max-width: 560px) { dl { grid-template-columns: 1fr; gap: 2px; } dd { margin-bottom: 10px; } }
`;

/** A page of the documents: HTML without script. `up` leads from the page to `/docs/`. */
export function documentPage(title: string, body: string, up: string): string {
  const links = [
    [`${up}../docs`, "Atrium documents"],
    [`${up}guides/quick-start`, "Quick start"],
    [`${up}errors`, "Errors"],
    [`${up}api`, "API reference"],
  ];
  const nav = links.map(([path, name]) => `<a href="${path}">${name}</a>`).join("");
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${escapeHtml(title)} · Atrium</title><link rel="stylesheet" href="${up}style.css"></head>
<body><header><nav aria-label="Documents">${nav}</nav></header><main>${body}</main></body></html>`;
}
