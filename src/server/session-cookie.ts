import { createHash } from "node:crypto";
import { clearField, create } from "@bufbuild/protobuf";
import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { SessionCookie } from "../../gen/atrium/options/v1/options_pb.ts";
import { sessionTokenKey } from "../platform/caller.ts";
import { errorRow, ServiceError } from "../platform/errors.ts";
import { callOf } from "./call.ts";
import type { Call } from "./call.ts";
import { isLoopback } from "../platform/loopback.ts";
import type { Policy } from "./policy.ts";

/** A unary rpc. */
type Run = (message: Message, context: HandlerContext) => Promise<Message> | Message;

/** Settings of cookie mode. */
export interface SessionCookieConfig {
  /** `SERVICE_BASE_URL`: its origin alone may use cookie mode, and its hash names the cookie. */
  baseUrl: string;
  /** Development: the loopback host that was requested may use it too. */
  loopback: boolean;
  /** Lifetime of a refresh token's family, seconds: how long a persistent cookie is kept. */
  maxAgeS: number;
}

/** Cookie mode (decisions 17.9): the refresh token travels in a cookie that scripts cannot read. */
export interface SessionCookies {
  /** Whether the page that sent a request may use cookie mode. */
  allows(call: Call): boolean;
  /** Returns the refresh token in the cookie of a request; undefined without one. */
  tokenOf(call: Call): string | undefined;
  /** Wraps an rpc so that in cookie mode its refresh token moves from the response to the cookie. */
  moving(policy: Policy, run: Run): Run;
}

/** Creates cookie mode. */
export function createSessionCookies({ baseUrl, loopback, maxAgeS }: SessionCookieConfig): SessionCookies {
  const { origin: own } = new URL(baseUrl);
  const name = `__Host-atrium-${createHash("sha256").update(baseUrl).digest("hex").slice(0, 8)}`;
  const cookie = (value: string, maxAge: number | undefined): string =>
    `${name}=${value}; Path=/; Secure; HttpOnly; SameSite=Strict${maxAge === undefined ? "" : `; Max-Age=${maxAge}`}`;
  const cleared = cookie("", 0);

  function isOwnOrigin(origin: string, { request: { headers } }: Call): boolean {
    if (origin === own) return true;
    const authority = headers.host ?? headers[":authority"];
    return loopback && isLoopback(origin) && URL.parse(origin)?.host === authority;
  }

  function move(
    answer: Message,
    holderOf: (message: Message) => TokenHolder | undefined,
    call: Call,
  ): string | undefined {
    const holder = holderOf(answer);
    if (holder === undefined) return undefined;
    const { message, refreshToken, expiresIn } = holder;
    const persistent = call.info.cookieMode === "persistent";
    const inBody = refreshToken === undefined ? undefined : textAt(message, refreshToken);
    if (refreshToken !== undefined && inBody !== undefined) {
      clearField(message, refreshToken);
      return cookie(inBody, persistent ? maxAgeS : undefined);
    }
    // A session that cannot outlive its access token.
    const apart = call.get(sessionTokenKey);
    return apart === undefined ? undefined : cookie(apart, persistent ? expiresIn : undefined);
  }

  return {
    allows(call) {
      const site = call.header("sec-fetch-site");
      const origin = call.header("origin");
      return origin !== undefined && isOwnOrigin(origin, call) && (site === undefined || site === "same-origin");
    },

    tokenOf(call) {
      const values = new Set<string>();
      for (const pair of (call.header("cookie") ?? "").split(";")) {
        const at = pair.indexOf("=");
        if (at >= 0 && pair.slice(0, at).trim() === name) values.add(pair.slice(at + 1).trim());
      }
      // A browser keeps one cookie of a `__Host-` name. Of several, none is known to be ours.
      const [value] = values;
      return values.size === 1 && value !== "" ? value : undefined;
    },

    moving({ method, sessionCookie }, run) {
      if (sessionCookie === SessionCookie.UNSPECIFIED) return run;
      const clears = sessionCookie === SessionCookie.CLEAR;
      const holderOf = clears ? undefined : tokenHolders(method.output);
      return async (message, context) => {
        const call = callOf(context.values);
        let answer: Message;
        try {
          answer = await run(message, context);
        } catch (error) {
          const refused = sessionCookie === SessionCookie.RENEW && call.info.cookieMode !== undefined;
          throw refused && error instanceof ServiceError && error.status === 401 ? withCookie(error, cleared) : error;
        }
        if (call.info.cookieMode === undefined) return answer;
        const full = create(method.output, answer);
        const set = holderOf === undefined ? cleared : move(full, holderOf, call);
        if (set !== undefined) context.responseHeader.append("set-cookie", set);
        return full;
      };
    },
  };
}

/** The message in a response that has the tokens. */
interface TokenHolder {
  message: Message;
  /** Undefined where the response has none in any mode. */
  refreshToken: DescField | undefined;
  expiresIn: number;
}

/**
 * Returns a function that finds the tokens in a response: in the message itself, or in the one it wraps.
 * @throws Error when the response has no access token
 */
function tokenHolders(output: DescMessage): (message: Message) => TokenHolder | undefined {
  const wrapper = output.fields.find((field) => field.message?.field["accessToken"] !== undefined);
  const desc = output.field["accessToken"] === undefined ? wrapper?.message : output;
  if (desc === undefined) throw new Error(`${output.typeName}: opens a session but has no access_token`);
  return (answer) => {
    const message = desc === output ? answer : (answer as unknown as Record<string, Message>)[wrapper?.localName ?? ""];
    if (message === undefined) return undefined;
    const { expiresIn } = message as unknown as { expiresIn?: number };
    return { message, refreshToken: desc.field["refreshToken"], expiresIn: expiresIn ?? 0 };
  };
}

function textAt(message: Message, { localName }: DescField): string | undefined {
  const value = (message as unknown as Record<string, unknown>)[localName];
  return typeof value === "string" && value !== "" ? value : undefined;
}

function withCookie({ status, code, message, fields, headers, cause }: ServiceError, cookie: string): ServiceError {
  return new ServiceError(errorRow(status, code, message), {
    fields,
    headers: { ...headers, "set-cookie": cookie },
    cause,
  });
}
