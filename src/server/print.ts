import type { ServiceError } from "../platform/errors.ts";
import { scimErrorBody } from "../platform/scim-error.ts";
import { negotiate } from "../transcoding/index.ts";
import type { PrintedError } from "../transcoding/index.ts";
import { headersOf } from "./codes.ts";
import { prefersPage, printErrorPage } from "./error-page.ts";

/** Header of every response (decisions 1.11). */
export const NOSNIFF = { "x-content-type-options": "nosniff" };

/** Facts of the request that the body of an error repeats. */
export interface ErrorAbout {
  requestId: string;
  /** Path with query, as sent; the query is left out of the body. */
  url: string;
  accept: string | undefined;
  /** Print an RFC 7644 error object. */
  scim: boolean;
  /** Title of the page for a client that prefers one; empty where the route has none. */
  pageTitle?: string | undefined;
}

const titles: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  406: "Not Acceptable",
  409: "Conflict",
  410: "Gone",
  412: "Precondition Failed",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  422: "Unprocessable Content",
  423: "Locked",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  499: "Client Closed Request",
  500: "Internal Server Error",
  501: "Not Implemented",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

/** Prints an error for REST (decisions 1.3, 1.5). */
export function printError(error: ServiceError, about: ErrorAbout): PrintedError {
  const headers: Record<string, string> = {
    ...headersOf(error),
    ...NOSNIFF,
    "x-request-id": about.requestId,
    "cache-control": "no-store",
    link: `<${helpPath(error.code, about.url)}>; rel="help"`,
  };
  if (about.scim) {
    headers["content-type"] = "application/scim+json";
    return { status: error.status, headers, body: JSON.stringify(scimErrorBody(error)) };
  }
  const { pageTitle = "", requestId } = about;
  if (pageTitle !== "") {
    headers["vary"] = "Accept";
    if (prefersPage(about.accept)) return printErrorPage(error, { title: pageTitle, requestId }, headers);
  }
  if (error.document !== undefined) {
    headers["content-type"] = "application/json";
    return { status: error.status, headers, body: JSON.stringify(error.document) };
  }
  headers["content-type"] = prefersProblem(about.accept) ? "application/problem+json" : "application/json";
  return { status: error.status, headers, body: JSON.stringify(restBody(error, about)) };
}

function restBody(error: ServiceError, about: ErrorAbout): Record<string, unknown> {
  const query = about.url.indexOf("?");
  return {
    code: error.code,
    message: error.message,
    type: `urn:atrium:error:${error.code}`,
    title: titles[error.status] ?? "Error",
    status: error.status,
    detail: error.message,
    instance: query < 0 ? about.url : about.url.slice(0, query),
    request_id: about.requestId,
    ...(error.fields === undefined
      ? {}
      : { errors: error.fields.map(({ field, code, message }) => ({ field, code, message })) }),
  };
}

/** The page that explains a code, relative to the request: the service may be served below a path of another server. */
function helpPath(code: string, url: string): string {
  const path = url.split("?")[0] ?? "";
  return `${"../".repeat(Math.max(0, path.split("/").length - 2))}docs/errors/${code}`;
}

const [PROBLEM, JSON_TYPE] = ["application/problem+json", "application/json"];

/**
 * Whether a client prefers `application/problem+json` to `application/json`. Of equal weights, the type that the client
 * names wins, and of two named types the first.
 */
function prefersProblem(accept: string | undefined): boolean {
  const named = (accept ?? "").split(",").map((range) => range.split(";")[0]?.trim().toLowerCase());
  const [problem, json] = [named.indexOf(PROBLEM), named.indexOf(JSON_TYPE)];
  const problemFirst = problem >= 0 && (json < 0 || problem < json);
  return negotiate(accept, problemFirst ? [PROBLEM, JSON_TYPE] : [JSON_TYPE, PROBLEM]) === PROBLEM;
}
