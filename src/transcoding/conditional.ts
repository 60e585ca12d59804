import type { NodeRequest } from "./types.ts";

const entityTag = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;

/** The opaque part of an entity tag: `If-None-Match` compares weakly (RFC 9110 §8.8.3.2). */
function opaque(tag: string): string {
  return tag.startsWith("W/") ? tag.slice(2) : tag;
}

/** True when the client already has the representation with this `ETag` (RFC 9110 §13.1.2). */
export function isKnown(request: NodeRequest, etag: string): boolean {
  const { method } = request;
  const known = request.headers["if-none-match"];
  if (known === undefined || (method !== "GET" && method !== "HEAD")) return false;
  if (known.trim() === "*") return true;
  for (const [, tag] of known.matchAll(entityTag)) if (tag === opaque(etag)) return true;
  return false;
}
