import { SessionCookie } from "../../../gen/atrium/options/v1/options_pb.ts";
import type { Policy } from "../../../src/server/policy.ts";
import type { Schema } from "./json-schema.ts";

/** Names the request, so that it can be sent again safely (decisions 1.9). */
const IDEMPOTENCY_KEY = header(
  "Idempotency-Key",
  "A name for this request: sent again with the same key within 24 hours, it returns the first response.",
  { type: "string", minLength: 1, maxLength: 255, pattern: "^[!-~]+$" },
);

/** Decisions 3.9. */
const DEVICE_UUID = header(
  "X-Device-Uuid",
  "The device of the session that this opens; the service makes a new one when it is left out.",
  { type: "string", format: "uuid" },
);

/** Decisions 17.9. */
const SESSION_MODE = header(
  "X-Atrium-Session",
  "Cookie mode, for pages of the service's own origin: the refresh token is a cookie and in no body. With " +
    "`persistent` the cookie outlives the browser.",
  { type: "string", enum: ["cookie", "cookie; persistent"] },
);

const IF_MATCH = header(
  "If-Match",
  "The version that the resource must have, as its `ETag` names it, or `*` for any: otherwise nothing is changed.",
  { type: "string" },
);

const IF_NONE_MATCH = header(
  "If-None-Match",
  "The `ETag` of a response that the client has: 304 without a body while it is the present one.",
  { type: "string" },
);

const IF_NEW = header("If-None-Match", "`*`: the resource must not be there. Otherwise nothing is changed.", {
  type: "string",
  enum: ["*"],
});

function header(name: string, description: string, schema: Schema): Schema {
  return { name, in: "header", required: false, description, schema };
}

/** The header parameters of an rpc's operations. */
export function headersOf(policy: Policy): Schema[] {
  const { idempotent, rest, method, sessionCookie } = policy;
  // Every rpc that opens a session may set the cookie. Of some, the device is in the path.
  const namesDevice = sessionCookie === SessionCookie.SET && method.input.field["deviceUuid"] === undefined;
  return [
    ...(idempotent ? [IDEMPOTENCY_KEY] : []),
    ...(namesDevice ? [DEVICE_UUID] : []),
    ...(sessionCookie === SessionCookie.UNSPECIFIED ? [] : [SESSION_MODE]),
    ...(rest?.ifMatch === true ? [IF_MATCH] : []),
    ...(rest?.ifNoneMatch === true ? [IF_NEW] : []),
    ...(rest?.etag === true ? [IF_NONE_MATCH] : []),
  ];
}
