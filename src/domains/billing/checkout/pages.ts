import { basePath } from "../../../platform/base-path.ts";
import { errors } from "../../../platform/errors.ts";
import { isLoopback } from "../../../platform/loopback.ts";
import type { BillingDeps } from "../deps.ts";

/**
 * The page to which a provider sends a browser; the service's own when none is given.
 * @throws {validation_error} for a URL that is neither the service's nor an allowed origin's
 */
export function pageOf(
  { baseUrl, corsOrigins }: Pick<BillingDeps["config"], "baseUrl" | "corsOrigins">,
  field: string,
  url: string | undefined,
): string {
  if (url === undefined) return baseUrl;
  const { origin, pathname } = new URL(url);
  const isAllowed = corsOrigins === "loopback" ? isLoopback(origin) : corsOrigins.includes(origin);
  const isOwn = origin === new URL(baseUrl).origin && `${pathname}/`.startsWith(basePath(baseUrl));
  if (isAllowed || isOwn) return url;
  const message = "must be under the service's URL or an allowed origin";
  throw errors.validation({ fields: [{ field, code: "origin", message }] });
}
