import type { Message } from "@bufbuild/protobuf";
import { SessionCookie } from "../../../gen/atrium/options/v1/options_pb.ts";
import type { CookieMode } from "../../platform/caller.ts";
import { errors } from "../../platform/errors.ts";
import type { Policy } from "../policy.ts";
import type { SessionCookies } from "../session-cookie.ts";
import type { Step } from "./step.ts";

/** Values of `X-Atrium-Session`, without white space. */
const MODES: Readonly<Record<string, CookieMode | undefined>> = {
  cookie: "session",
  "cookie;persistent": "persistent",
};

const takesCookie = ({ sessionCookie }: Policy): boolean => sessionCookie !== SessionCookie.UNSPECIFIED;

/** Reads `X-Atrium-Session`, and refuses it from pages of another origin (decisions 17.9). */
export function createCookieMode(cookies: SessionCookies | undefined): Step {
  return {
    name: "cookie-mode",
    applies: (policy) => cookies !== undefined && takesCookie(policy),
    run(_policy, call) {
      const header = call.header("x-atrium-session");
      if (header === undefined) return;
      const mode = MODES[header.toLowerCase().replaceAll(/[ \t]/gu, "")];
      if (mode === undefined)
        throw errors.badRequest({ message: "X-Atrium-Session must be `cookie` or `cookie; persistent`." });
      if (cookies?.allows(call) !== true)
        throw errors.forbidden({ message: "X-Atrium-Session is taken from pages of the service's own origin alone." });
      call.info.cookieMode = mode;
    },
  };
}

/** Reads the refresh token from the cookie where the message has none. */
export function createCookieToken(cookies: SessionCookies | undefined): Step {
  return {
    name: "cookie-token",
    applies: ({ sessionCookie }) => cookies !== undefined && sessionCookie === SessionCookie.RENEW,
    run(_policy, call) {
      const message: (Message & { refreshToken?: string }) | undefined = call.message;
      if (call.info.cookieMode === undefined || message === undefined || (message.refreshToken ?? "") !== "") return;
      const token = cookies?.tokenOf(call);
      if (token === undefined)
        throw errors.unauthorized({ message: "There is no session to renew in this browser; sign in." });
      message.refreshToken = token;
    },
  };
}
