import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { services } from "../../../gen/services.ts";
import { isKnown, negotiateCoding, varying } from "../../transcoding/index.ts";
import type { NodeRequest, NodeResponse } from "../../transcoding/index.ts";
import { compilePolicies } from "../policy.ts";
import type { PlainHandler } from "../routes.ts";
import { createErrorFacts, errorBody, errorsBody } from "./error-pages.ts";
import { documentPage, STYLE } from "./layout.ts";
import { readScalar, REFERENCE_PAGE, REFERENCE_POLICY, REFERENCE_START } from "./reference.ts";

/** Policy of the documents: no script, no inline style, nothing from elsewhere. */
const POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'none'; base-uri 'none'; " +
  "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const HEADERS: Readonly<Record<string, string>> = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

/** One response, with and without compression. */
interface Page {
  type: string;
  policy: string | undefined;
  body: Buffer;
  gzip: Buffer;
  etag: string;
}

function pageOf(type: string, text: string | Buffer, policy?: string): Page {
  const body = Buffer.from(text as string);
  const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
  return { type, policy, body, gzip: gzipSync(body), etag };
}

const HTML = "text/html; charset=utf-8";
const html = (text: string, policy = POLICY): Page => pageOf(HTML, text, policy);

interface Guide {
  title: string;
  html: string;
}

const read = (file: string): string => readFileSync(new URL(`../../../gen/${file}`, import.meta.url), "utf8");

function indexBody(guides: ReadonlyMap<string, Guide>): string {
  const cards = [...guides].map(([slug, { title }]) => `<li><a href="docs/guides/${slug}">${title}</a></li>`).join("");
  return `<h1>Documents</h1><h2>Guides</h2><ul class="cards">${cards}</ul><h2>Reference</h2><ul class="cards">
<li><a href="docs/api">API reference</a><span>Every operation, with its parameters, responses and errors.</span></li>
<li><a href="docs/errors">Errors</a><span>What each code means and what to do.</span></li>
<li><a href="openapi.json">openapi.json</a><span>The same contract for programs, OpenAPI 3.1.</span></li></ul>`;
}

/** The contract for programs; its server is the path of the public URL. */
function openApi(baseUrl: string): string {
  const text = read("openapi.json");
  const { pathname } = new URL(baseUrl);
  if (pathname === "/") return text;
  return JSON.stringify({ ...(JSON.parse(text) as object), servers: [{ url: pathname }] });
}

/** Makes the page of a path; undefined where there is none. */
function createPages(baseUrl: string): (path: string) => Page | undefined {
  const guides = new Map(Object.entries(JSON.parse(read("guides.json")) as Record<string, Guide>));
  const facts = createErrorFacts(compilePolicies(services).values());
  const fixed: Readonly<Record<string, () => Page | undefined>> = {
    "/openapi.json": () => pageOf("application/json", openApi(baseUrl)),
    "/docs": () => html(documentPage("Documents", indexBody(guides), "docs/")),
    "/docs/style.css": () => pageOf("text/css; charset=utf-8", STYLE),
    "/docs/errors": () => html(documentPage("Errors", errorsBody(), "")),
    "/docs/api": () => html(REFERENCE_PAGE, REFERENCE_POLICY),
    "/docs/api/start.js": () => pageOf("text/javascript; charset=utf-8", REFERENCE_START),
    "/docs/api/scalar.js": () => {
      const program = readScalar();
      return program && pageOf("text/javascript; charset=utf-8", program);
    },
  };
  return (path) => {
    const make = Object.hasOwn(fixed, path) ? fixed[path] : undefined;
    if (make !== undefined) return make();
    const [, kind, name = ""] = /^\/docs\/(guides|errors)\/([\w:-]{1,100})$/u.exec(path) ?? [];
    const guide = kind === "guides" ? guides.get(name) : undefined;
    if (guide !== undefined) return html(documentPage(guide.title, guide.html, "../"));
    const found = kind === "errors" ? facts(name) : undefined;
    return found && html(documentPage(found.code, errorBody(found), "../"));
  };
}

/** `GET /openapi.json` and everything below `/docs`: public, made on the first request, the same for everybody. */
export function documentPages(baseUrl: string): PlainHandler {
  const made = new Map<string, Page>();
  let pages: ReturnType<typeof createPages> | undefined;
  return (request, response) => {
    const path = request.url?.split("?")[0] ?? "";
    if (!/^\/(?:docs(?:\/|$)|openapi\.json$)/u.test(path)) return false;
    const page = made.get(path) ?? (pages ??= createPages(baseUrl))(path);
    if (page === undefined) return false;
    made.set(path, page);
    if (request.method !== "GET" && request.method !== "HEAD") return "other_method";
    send(page, request, response);
    return true;
  };
}

function send({ type, policy, body, gzip, etag }: Page, request: NodeRequest, response: NodeResponse): void {
  const common = {
    ...HEADERS,
    etag,
    vary: varying(response, "Accept-Encoding"),
    "cache-control": "no-cache",
    ...(policy !== undefined && { "content-security-policy": policy }),
  };
  if (isKnown(request, etag)) return void response.writeHead(304, common).end();
  const compressed = negotiateCoding(request.headers["accept-encoding"], ["gzip"]) === "gzip";
  const content = compressed ? gzip : body;
  response.writeHead(200, {
    ...common,
    "content-type": type,
    "content-length": String(content.length),
    ...(compressed && { "content-encoding": "gzip" }),
  });
  response.end(request.method === "HEAD" ? undefined : content);
}
