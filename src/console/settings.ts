/** What the service tells the pages, in the `meta` element of the document. */
export interface Settings {
  version: string;
  /** Public URL of the service. */
  baseUrl: string;
  idleMs: number;
  openSignup: boolean;
  /** Where a sign-in may lead besides the public URL; `loopback`: anywhere on this machine. */
  origins: readonly string[] | "loopback";
  mailbox: boolean;
  firstLogin?: { email: string; org: string; password: string };
}

const content = document.querySelector<HTMLMetaElement>('meta[name="atrium"]')?.content;

export const settings: Settings = {
  version: "",
  baseUrl: location.origin,
  idleMs: 3_600_000,
  openSignup: false,
  origins: [],
  mailbox: false,
  ...(content === undefined ? {} : (JSON.parse(content) as Partial<Settings>)),
};

/** Path of the public URL, without a slash at its end: the prefix of every path of the service. */
export const prefix = new URL(document.baseURI).pathname.replace(/\/$/u, "");

/** Public URL of the service as this browser sees it, without a slash at its end. */
export const serviceUrl = `${location.origin}${prefix}`;

/** Returns the path inside the console's own routes when `next` leads to this service, else the start page. */
export function localPath(next: string | undefined): string {
  if (next === undefined || next === "") return "/console";
  const url = URL.canParse(next, `${serviceUrl}/`) ? new URL(next, `${serviceUrl}/`) : undefined;
  if (url === undefined || url.origin !== location.origin) return "/console";
  const path = url.pathname.startsWith(`${prefix}/`) ? url.pathname.slice(prefix.length) : url.pathname;
  // A path of two slashes would be another host where it is used as an address.
  return path.startsWith("/") && !path.startsWith("//") ? `${path}${url.search}` : "/console";
}

/** A page outside this service, and whether the operator has named its origin. */
export interface ExternalPage {
  href: string;
  host: string;
  isKnown: boolean;
}

/** The page outside this service to which `next` leads, if it does. */
export function externalPage(next: string | undefined): ExternalPage | undefined {
  const url = next !== undefined && URL.canParse(next) ? new URL(next) : undefined;
  if (url === undefined || !/^https?:$/u.test(url.protocol) || url.origin === location.origin) return undefined;
  return { href: url.href, host: url.host, isKnown: isKnown(url) };
}

function isKnown({ origin, hostname }: URL): boolean {
  if (origin === new URL(settings.baseUrl).origin) return true;
  if (settings.origins !== "loopback") return settings.origins.some((one) => one.toLowerCase() === origin);
  return /^(?:(?:.+\.)?localhost|\[::1\]|127(?:\.\d{1,3}){3})$/u.test(hostname);
}
