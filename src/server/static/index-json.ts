import { basePath } from "../../platform/base-path.ts";
import { varying } from "../../transcoding/index.ts";
import type { PlainHandler } from "../routes.ts";

/** Facts that `GET /` returns to a program. */
export interface IndexFacts {
  version: string;
  /** Public URL of the service. */
  baseUrl: string;
  /** Whether the console is served. */
  console: boolean;
  /** Whether mails are kept at `/dev/mailbox`. */
  mailbox: boolean;
  /** First owner, in the development profile. */
  firstLogin?: { email: string; org: string } | undefined;
}

/** `GET /` as JSON: the name, the version and where things are, below the path of the public URL. */
export function indexJson({ version, baseUrl, console, mailbox, firstLogin }: IndexFacts): PlainHandler {
  const base = basePath(baseUrl);
  const json = JSON.stringify({
    name: "atrium",
    version,
    ...(firstLogin !== undefined && {
      profile: "development",
      first_login: { email: firstLogin.email, org_name: firstLogin.org },
    }),
    links: {
      ...(console && { console: `${base}console` }),
      docs: `${base}docs`,
      openapi: `${base}openapi.json`,
      jwks: `${base}.well-known/jwks.json`,
      health: `${base}healthz`,
      ...(mailbox && { mailbox: `${base}dev/mailbox` }),
    },
  });
  return (request, response) => {
    if (request.url?.split("?")[0] !== "/") return false;
    if (request.method !== "GET" && request.method !== "HEAD") return "other_method";
    response.writeHead(200, {
      "content-type": "application/json",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      vary: varying(response, "Accept"),
    });
    response.end(request.method === "HEAD" ? undefined : json);
    return true;
  };
}
