import { parseEmail } from "../../platform/email.ts";
import type { Email } from "../../platform/email.ts";
import { errors } from "../../platform/errors.ts";
import type { FieldViolation } from "../../platform/errors.ts";

/** Path that every discovery document ends in (OpenID Connect Discovery 1.0 §4). */
export const DISCOVERY_PATH = "/.well-known/openid-configuration";

/** Maximum number of connections of an organization. */
export const MAX_CONNECTIONS = 20;
const MAX_DOMAINS = 100;
const MAX_REDIRECTS = 20;

/** The issuer a discovery URL stands for. */
export function issuerOf(discoveryUrl: string): string {
  return discoveryUrl.slice(0, -DISCOVERY_PATH.length);
}

/**
 * Whether an issuer is the one a discovery URL stands for: exactly, but for a slash at its end, which is removed before
 * the path is appended (OpenID Connect Discovery 1.0 §4.1).
 */
export function isIssuerOf(discoveryUrl: string, issuer: unknown): issuer is string {
  return issuer === issuerOf(discoveryUrl) || issuer === `${issuerOf(discoveryUrl)}/`;
}

/**
 * Mail domains as they are stored: lower case, IDNA encoded, each once.
 * @throws {validation_error} for each that is not a mail domain
 */
export function readAllowedDomains(given: readonly unknown[]): string[] {
  const read = given.map((text) => (typeof text === "string" ? parseEmail(`x@${text.trim()}`)?.domain : undefined));
  const fields = read.flatMap((domain, at) =>
    domain?.includes(".") === true
      ? []
      : [{ field: `allowed_domains[${at}]`, code: "format", message: "must be a mail domain without wildcards" }],
  );
  demandAtMost("allowed_domains", given, MAX_DOMAINS, fields);
  return [...new Set(read.filter((domain) => domain !== undefined))];
}

/**
 * URIs that browsers may be sent to; they are compared as text.
 * @throws {validation_error} for each that is not an http or https URL, or has credentials, a fragment or a wildcard
 */
export function readRedirectUris(given: readonly unknown[]): string[] {
  const fields = given.flatMap((uri, at) => {
    const problem = typeof uri === "string" ? redirectProblem(uri) : "must be a string";
    return problem === undefined ? [] : [{ field: `redirect_uris[${at}]`, code: "format", message: problem }];
  });
  demandAtMost("redirect_uris", given, MAX_REDIRECTS, fields);
  return [...new Set(given as string[])];
}

function redirectProblem(uri: string): string | undefined {
  if (uri.length > 2_048) return "must have at most 2,048 characters";
  if (/[\s\\\p{Cc}]/u.test(uri)) return "must have no spaces, control characters or backslashes";
  if (!/^https?:\/\/[^/]/iu.test(uri) || URL.parse(uri) === null) return "must be an absolute http or https URL";
  if (/^https?:\/\/[^/?#]*@/iu.test(uri)) return "must not have credentials";
  if (/[#*]/u.test(uri)) return "must have neither a fragment nor a wildcard";
  return undefined;
}

function demandAtMost(field: string, given: readonly unknown[], most: number, fields: FieldViolation[]): void {
  const all = given.length > most ? [{ field, code: "too_many", message: `must have at most ${most} items` }] : fields;
  if (all.length > 0) throw errors.validation({ fields: all });
}

/** Where the sign-ins of a connection may send the browser. */
export function registeredRedirects(
  { redirectUris }: { redirectUris: readonly string[] },
  baseUrl: string,
): readonly string[] {
  return redirectUris.length === 0 ? [baseUrl] : redirectUris;
}

/**
 * Where to send the browser after the sign-in.
 * @throws {validation_error} when the URI is not registered, or absent where several are
 */
export function readRedirectUri(
  wanted: string | undefined,
  connection: { redirectUris: readonly string[] },
  baseUrl: string,
): string {
  const allowed = registeredRedirects(connection, baseUrl);
  const chosen = wanted === undefined || wanted === "" ? (allowed.length === 1 ? allowed[0] : undefined) : wanted;
  if (chosen !== undefined && allowed.includes(chosen)) return chosen;
  const message = "must be one of the connection's redirect_uris";
  throw errors.validation({ fields: [{ field: "redirect_uri", code: "not_registered", message }] });
}

/** A URI with further query parameters; a query it has is kept as it is written. */
export function withQuery(uri: string, params: Readonly<Record<string, string | null>>): string {
  const url = new URL(uri);
  const added = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value !== null) added.append(name, value);
  // `url.searchParams.append` would write the whole query anew.
  url.search = url.search === "" ? added.toString() : `${url.search}&${added.toString()}`;
  return url.href;
}

/**
 * The verified address among claims, if its domain is admitted: `email_verified` must be the boolean, and the domain
 * equal one of the list.
 */
export function admittedEmail(
  claims: Readonly<Record<string, unknown>>,
  allowedDomains: readonly string[],
): Email | undefined {
  if (claims["email_verified"] !== true || typeof claims["email"] !== "string") return undefined;
  const email = parseEmail(claims["email"]);
  if (email === undefined || !allowedDomains.includes(email.domain)) return undefined;
  // Letters that only look like those of an admitted domain, and that IDNA maps to them, are not that domain.
  const isPlain = /^[\x21-\x7e]+$/u.test(claims["email"].trim()) || email.domain.includes("xn--");
  return isPlain ? email : undefined;
}

/**
 * Values of the cookies that bind sign-ins to a browser: one cookie for each sign-in that is under way. Of very many
 * the newest, which browsers send last (RFC 6265 §5.4).
 */
export function bindingsOf(cookie: string | null): string[] {
  return (cookie ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(COOKIE_PREFIX))
    .map((pair) => pair.slice(pair.indexOf("=") + 1))
    .slice(-MAX_COOKIES);
}

const COOKIE_PREFIX = "atrium_oidc_";
const MAX_COOKIES = 20;

/**
 * `Set-Cookie` that binds a sign-in to the browser, by the hash of the value; with an empty value the one that ends it.
 * Lax: the cookie is sent on the way back from another site.
 */
export function bindingCookie(
  { hash, value, maxAgeMs }: { hash: Buffer; value: string; maxAgeMs: number },
  baseUrl: string,
): string {
  const { pathname, protocol } = new URL(baseUrl);
  const path = `${pathname === "/" ? "" : pathname}/api/auth/oidc`;
  const secure = protocol === "https:" ? "; Secure" : "";
  const maxAge = Math.ceil(maxAgeMs / 1000);
  const name = hash.toString("hex").slice(0, 16);
  return `${COOKIE_PREFIX}${name}=${value}; Path=${path}; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${secure}`;
}
