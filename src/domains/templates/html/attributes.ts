/** How the value of an attribute with placeholders is treated. */
export type AttributeRule =
  /** Only escaped. */
  | "text"
  /** One URL: another scheme than http, https, mailto and tel replaces the value with `#`. */
  | "url"
  /** Several URLs, or URLs with descriptors, as in `srcset`. */
  | "urls"
  /** A colour or a reference of SVG that CSS reads: whatever could load something replaces the value with `none`. */
  | "paint"
  /** Placeholders are refused. */
  | "refused";

/** Elements whose attributes load, run or redefine more than any value may: none takes a placeholder. */
const REFUSED_ELEMENTS: ReadonlySet<string> = new Set([
  "script",
  "style",
  "link",
  "base",
  // SMIL sets attributes of other elements, `href` among them.
  "animate",
  "animatemotion",
  "animatetransform",
  "set",
  "discard",
]);

const REFUSED_NAMES: ReadonlySet<string> = new Set([
  "style",
  // HTML inside of an attribute.
  "srcdoc",
  // What frames and pages may do, and how they are read.
  "sandbox",
  "allow",
  "csp",
  "http-equiv",
  "charset",
  "nonce",
  "integrity",
  "is",
  "manifest",
  "shadowrootmode",
  "attributename",
  "xml:base",
]);

const URL_NAMES: ReadonlySet<string> = new Set([
  "href",
  "xlink:href",
  "src",
  "action",
  "formaction",
  "poster",
  "data",
  "cite",
  "background",
  "longdesc",
  "icon",
  "codebase",
  "code",
  "classid",
  "profile",
  "dynsrc",
  "lowsrc",
  "usemap",
]);

const URL_LIST_NAMES: ReadonlySet<string> = new Set(["srcset", "imagesrcset", "ping", "archive", "attributionsrc"]);

const PAINT_NAMES: ReadonlySet<string> = new Set([
  "fill",
  "stroke",
  "filter",
  "mask",
  "clip-path",
  "cursor",
  "marker",
  "marker-start",
  "marker-mid",
  "marker-end",
  "color",
  "stop-color",
  "flood-color",
  "lighting-color",
]);

/** The rule of an attribute by the names of element and attribute, in lower case. `redirects`: a `meta http-equiv`. */
export function ruleOf(element: string, attribute: string, redirects: boolean): AttributeRule {
  if (REFUSED_ELEMENTS.has(element) || redirects) return "refused";
  if (attribute.startsWith("on") || attribute.startsWith("xmlns") || REFUSED_NAMES.has(attribute)) return "refused";
  if (URL_NAMES.has(attribute) || (element === "param" && attribute === "value")) return "url";
  if (URL_LIST_NAMES.has(attribute)) return "urls";
  return PAINT_NAMES.has(attribute) ? "paint" : "text";
}

const SCHEMES: ReadonlySet<string> = new Set(["http", "https", "mailto", "tel"]);

/**
 * Whether a URL is relative or has one of the four schemes. Reads the scheme alone, as the URL standard does (§4.4:
 * control characters and spaces before it are dropped, tabs and line breaks in it too); parsing values of megabytes, or
 * a million items of a list, would block the process for seconds.
 */
function isSafeUrl(url: string): boolean {
  const scheme = /^[\u0000- ]*([A-Za-z][A-Za-z0-9+.\t\n\r-]*):/u.exec(url)?.[1];
  return scheme === undefined || SCHEMES.has(scheme.replaceAll(/[\t\n\r]/gu, "").toLowerCase());
}

/** The scheme of each item of a list of URLs. White space and commas separate items, so that none is in a scheme. */
const ITEM_SCHEME = /(?<=^|[\s,])[\u0000-\u0008\u000e-\u001f]*([A-Za-z][A-Za-z0-9+.-]*):/gu;

function areSafeUrls(list: string): boolean {
  return list.matchAll(ITEM_SCHEME).every(([, scheme = ""]) => SCHEMES.has(scheme.toLowerCase()));
}

/** What replaces the decoded value of an attribute that breaks its rule; undefined when the value stays. */
export function replacementOf(rule: AttributeRule, value: string): string | undefined {
  if (rule === "url") return isSafeUrl(value) ? undefined : "#";
  // The whole is read as a URL too: a scheme may contain what separates the items of a list.
  if (rule === "urls") return isSafeUrl(value) && areSafeUrls(value) ? undefined : "#";
  // CSS functions and escapes are what could load something.
  if (rule === "paint") return /[\\(]/u.test(value) ? "none" : undefined;
  return undefined;
}
