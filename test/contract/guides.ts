import { readFileSync } from "node:fs";
import { join } from "node:path";
import MarkdownIt from "markdown-it";
import { root } from "./run.ts";

/** The guides that the service serves, by the last part of their path, and the document each is made of. */
const GUIDES: Readonly<Record<string, string>> = {
  "quick-start": "quick-start.md",
  calling: "calling.md",
  "verify-tokens": "verify-tokens.md",
  "stay-signed-in": "tour-sessions.md",
  "step-up": "step-up.md",
  "receive-webhooks": "receive-webhooks.md",
  events: "events.md",
  "publish-an-app": "publish-an-app.md",
  "mtls-workload": "tour-trust.md",
  sso: "oidc.md",
  scim: "scim.md",
  "verify-audit": "verify-audit.md",
};

const paths = new Map(Object.entries(GUIDES).map(([slug, file]) => [file, slug]));

/** `gen/guides.json`: title and HTML of every guide, so that the service needs no Markdown at run time. */
export function guidesFile(): string {
  const guides = Object.entries(GUIDES).map(([slug, file]) => [slug, guideOf(file)]);
  return `${JSON.stringify(Object.fromEntries(guides), undefined, 1)}\n`;
}

function guideOf(file: string): { title: string; html: string } {
  const text = readFileSync(join(root, "docs", file), "utf8").replaceAll(/^<!--.*?-->\n+/gmsu, "");
  const title = /^# (.+)$/mu.exec(text)?.[1] ?? file;
  return { title, html: createRenderer().render(text) };
}

/** Markdown without HTML of its own, whose headings have anchors and whose links lead to pages that are served. */
function createRenderer(): { render(text: string): string } {
  const markdown = new MarkdownIt({ html: false });
  markdown.core.ruler.push("atrium", ({ tokens }) => {
    for (const [at, token] of tokens.entries()) {
      if (token.type === "heading_open") token.attrSet("id", anchorOf(tokens[at + 1]?.content ?? ""));
      for (const inline of token.children ?? []) {
        if (inline.type !== "link_open") continue;
        const target = servedPath(String(inline.attrGet("href") ?? ""));
        if (target === undefined) inline.attrs = [];
        else inline.attrSet("href", target);
      }
    }
  });
  return markdown;
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
}

/** Where a link leads on the service, relative to `/docs/guides/`; undefined for a file that is not served. */
function servedPath(target: string): string | undefined {
  if (/^https?:/u.test(target) || target.startsWith("#")) return target;
  const [file = "", anchor = ""] = target.split("#");
  if (file === "errors.md") return anchor === "" ? "../errors" : `../errors/${anchor}`;
  const slug = paths.get(file);
  return slug === undefined ? undefined : `${slug}${anchor === "" ? "" : `#${anchor}`}`;
}
