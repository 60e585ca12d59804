import type { HandlerContext } from "@connectrpc/connect";
import { scimErrors } from "../errors.ts";

/** @throws {precondition_failed} when `If-Match` names other versions alone (RFC 9110 §13.1.1; RFC 7644 §3.14) */
export function demandMatch(ifMatch: string | null | undefined, etag: string): void {
  if (ifMatch === null || ifMatch === undefined || ifMatch.trim() === "*") return;
  const opaque = (tag: string) => tag.trim().replace(/^W\//u, "");
  if (!ifMatch.split(",").some((tag) => opaque(tag) === opaque(etag))) throw scimErrors.preconditionFailed();
}

/** The header `If-Match` of a call; null when there is none. */
export const ifMatchOf = ({ requestHeader }: Pick<HandlerContext, "requestHeader">): string | null =>
  requestHeader.get("if-match");
