/**
 * Media types, and their negotiation. Not by `negotiator`: among types of equal weight it follows the order of the
 * client and among codings it knows neither `x-gzip` nor a preference for `br`, while here the server's order decides,
 * so using it would change responses. It would not show in the row `me-rest`, whose route has one media type.
 */

/** A parsed media type: `text/csv; charset=utf-8` gives `text/csv` and its charset. */
export interface MediaType {
  /** Type and subtype, lower case. */
  readonly essence: string;
  /** Lower case; undefined when there is none. */
  readonly charset: string | undefined;
}

const parsed = /^\s*([!#$%&'*+.^`|~\w-]+\/[!#$%&'*+.^`|~\w-]+)\s*(?:;(.*))?$/;
const charsetParameter = /(?:^|;)\s*charset\s*=\s*"?([^\s;"]+)"?/i;

/** Parses a Content-Type; undefined when it is not valid. */
export function parseMediaType(text: string): MediaType | undefined {
  const m = parsed.exec(text);
  if (m === null) return undefined;
  return { essence: (m[1] as string).toLowerCase(), charset: charsetParameter.exec(m[2] ?? "")?.[1]?.toLowerCase() };
}

/** True for `application/json`, `application/x+json` and newline-delimited JSON. */
export function isJson(essence: string): boolean {
  return /^[^/]+\/(?:json|x-ndjson|ndjson|jsonl)$|\+json$/.test(essence);
}

/** True when `essence` is in the range (`text/csv`, `text/*`, `*`+`/*`). */
function inRange(essence: string, range: string): boolean {
  if (range === "*/*" || range === essence) return true;
  return range.endsWith("/*") && essence.startsWith(range.slice(0, -1));
}

/** True when a route accepts a body of this Content-Type. JSON and forms are accepted in UTF-8 alone. */
export function isAccepted(contentType: string, taken: readonly string[]): boolean {
  const type = parseMediaType(contentType);
  if (type === undefined || !taken.some((range) => inRange(type.essence, range))) return false;
  const { charset, essence } = type;
  const isText = isJson(essence) || essence === "application/x-www-form-urlencoded";
  return charset === undefined || charset === "utf-8" || charset === "utf8" || !isText;
}

interface Weighed {
  readonly name: string;
  readonly q: number;
}

function weighed(header: string): Weighed[] {
  return header.split(",").flatMap((part) => {
    const [name = "", ...parameters] = part.split(";");
    if (name.trim() === "") return [];
    const q = parameters
      .map((p) => /^\s*q\s*=\s*(0(?:\.\d*)?|1(?:\.0*)?)\s*$/i.exec(p)?.[1])
      .find((v) => v !== undefined);
    return [{ name: name.trim().toLowerCase(), q: q === undefined ? 1 : Number(q) }];
  });
}

/**
 * Chooses a media type by Accept (RFC 9110 §12.5.1): highest weight, then the server's order. The most specific range
 * that covers an offer determines its weight. Undefined when none is acceptable.
 */
export function negotiate(accept: string | undefined, offers: readonly string[]): string | undefined {
  if (accept === undefined || accept.trim() === "") return offers[0];
  const ranges = weighed(accept);
  let best: string | undefined;
  let bestQ = 0;
  for (const offer of offers) {
    let q = 0;
    let precision = -1;
    for (const range of ranges) {
      const exactness = range.name === "*/*" ? 0 : range.name.endsWith("/*") ? 1 : 2;
      if (exactness > precision && inRange(offer, range.name)) {
        precision = exactness;
        q = range.q;
      }
    }
    if (q > bestQ) {
      best = offer;
      bestQ = q;
    }
  }
  return best;
}

/**
 * Chooses a content coding by Accept-Encoding: highest weight, then the server's order; undefined for none. `x-gzip` is
 * another name of `gzip` (RFC 9110 §8.4.1.3).
 */
export function negotiateCoding<Coding extends "br" | "gzip">(
  header: string | string[] | undefined,
  offers: readonly Coding[],
): Coding | undefined {
  const wanted = weighed(String(header ?? ""));
  const q = (name: string): number | undefined => wanted.find((w) => w.name === name)?.q;
  let best: Coding | undefined;
  let bestQ = 0;
  for (const offer of offers) {
    const weight = Math.max(q(offer) ?? q("*") ?? 0, offer === "gzip" ? (q("x-gzip") ?? 0) : 0);
    if (weight > bestQ) {
      best = offer;
      bestQ = weight;
    }
  }
  return best;
}
