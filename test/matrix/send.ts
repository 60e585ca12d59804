import { fromBinary } from "@bufbuild/protobuf";
import type { DescMethod } from "@bufbuild/protobuf";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import type { Presented } from "../mtls/client.ts";
import { callRest } from "../support/app.ts";
import type { Fetch } from "../support/app.ts";

/** What a caller presents: a bearer token, or a client certificate on a connection of its own. */
export interface Credential {
  token: string | undefined;
  /** Sends over mutual TLS, with the certificate below. */
  fetch?: Fetch;
  presented?: Presented;
}

/** The outcome of a call, in the same form for every protocol. */
export interface Seen {
  /** Status of the contract; over Connect that of ErrorInfo. */
  status: number;
  /** Code of the contract; empty on success. */
  code: string;
  /** `WWW-Authenticate`. */
  challenge: string | null;
  /** What is wrong with the form of the response; empty when nothing is. */
  fault: string;
  text: string;
}

/** `200`, or `403 forbidden`. */
export const outcomeOf = ({ status, code }: Seen): string => (code === "" ? String(status) : `${status} ${code}`);

/** A body that is no JSON. */
export const BROKEN = "{broken";

/** One call over REST; the form of a refusal is checked on the way. */
export async function sendRest(
  url: string,
  method: string,
  path: string,
  { token, fetch: send = fetch }: Credential,
  body?: unknown,
): Promise<Seen> {
  const answer = await callRest(url, method, path, { token, fetch: send, ...(body === undefined ? {} : { body }) });
  const { status, text, headers } = answer;
  const shown = answer.body as { status?: unknown; type?: unknown; request_id?: unknown; code?: string } | undefined;
  const code = status < 400 ? "" : (shown?.code ?? "none");
  const faults: string[] = [];
  if (status >= 400) {
    if (path.startsWith("/scim/v2/")) {
      if (headers.get("content-type") !== "application/scim+json" || shown?.status !== String(status))
        faults.push("is no RFC 7644 error");
    } else if (
      shown?.status !== status ||
      shown.type !== `urn:atrium:error:${code}` ||
      typeof shown.request_id !== "string"
    )
      faults.push("is no error of the contract");
  }
  return { status, code, challenge: headers.get("www-authenticate"), fault: faults.join(", "), text };
}

/** Codes of Connect for the statuses a gate returns (decisions 15.3). */
const connectCodes: Readonly<Record<number, string>> = {
  400: "invalid_argument",
  401: "unauthenticated",
  403: "permission_denied",
  404: "not_found",
  501: "unimplemented",
};
const httpOf: Readonly<Record<string, number>> = {
  invalid_argument: 400,
  unauthenticated: 401,
  permission_denied: 403,
  not_found: 404,
  unimplemented: 501,
};

interface ConnectFault {
  code: string;
  message?: string;
  details?: { type: string; value: string }[];
}

/** One call over Connect with JSON, streams in their envelopes; the form of a refusal is checked on the way. */
export async function sendConnect(
  url: string,
  rpc: DescMethod,
  { token, fetch: send = fetch }: Credential,
  message: unknown,
): Promise<Seen> {
  const json = typeof message === "string" ? message : JSON.stringify(message);
  const stream = rpc.methodKind !== "unary";
  const answer = await send(`${url}/${rpc.parent.typeName}/${rpc.name}`, {
    method: "POST",
    headers: {
      "content-type": stream ? "application/connect+json" : "application/json",
      "connect-protocol-version": "1",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: stream ? envelope(json) : json,
  });
  const bytes = Buffer.from(await answer.arrayBuffer());
  if (stream) {
    const end = JSON.parse(lastFrame(bytes)) as { error?: ConnectFault; metadata?: Record<string, string[]> };
    const challenge = end.metadata?.["www-authenticate"]?.[0] ?? answer.headers.get("www-authenticate");
    return end.error === undefined
      ? { status: answer.status, code: "", challenge, fault: "", text: "" }
      : explain(end.error, undefined, challenge);
  }
  const text = bytes.toString();
  if (answer.status < 300)
    return { status: answer.status, code: "", challenge: answer.headers.get("www-authenticate"), fault: "", text };
  return explain(JSON.parse(text) as ConnectFault, answer.status, answer.headers.get("www-authenticate"));
}

function explain(error: ConnectFault, http: number | undefined, challenge: string | null): Seen {
  const detail = error.details?.find(({ type }) => type === "google.rpc.ErrorInfo");
  if (detail === undefined)
    return { status: http ?? 0, code: error.code, challenge, fault: "has no ErrorInfo", text: JSON.stringify(error) };
  const info = fromBinary(ErrorInfoSchema, Buffer.from(detail.value, "base64"));
  const status = Number(info.metadata["http_status"]);
  const faults: string[] = [];
  if (info.domain !== "atrium" || info.reason !== info.reason.toUpperCase()) faults.push("ErrorInfo is odd");
  const code = connectCodes[status];
  if (code !== undefined && error.code !== code) faults.push(`says ${error.code} for a ${status}`);
  const expected = httpOf[error.code];
  if (http !== undefined && expected !== undefined && http !== expected) faults.push(`HTTP ${http} for ${error.code}`);
  return { status, code: info.reason.toLowerCase(), challenge, fault: faults.join(", "), text: error.message ?? "" };
}

function envelope(json: string): Buffer {
  const data = Buffer.from(json);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(data.length, 1);
  return Buffer.concat([head, data]);
}

function lastFrame(bytes: Buffer): string {
  let at = 0;
  let text = "{}";
  while (at + 5 <= bytes.length) {
    const size = bytes.readUInt32BE(at + 1);
    text = bytes.subarray(at + 5, at + 5 + size).toString();
    at += 5 + size;
  }
  return text;
}

/** Runs `work` for all items, a few at a time; resolves to the results in their order. */
export async function forAll<T, R>(items: readonly T[], work: (item: T) => Promise<R>, atOnce = 12): Promise<R[]> {
  const answers: R[] = [];
  let next = 0;
  const run = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) answers[at] = await work(items[at] as T);
  };
  await Promise.all(Array.from({ length: atOnce }, run));
  return answers;
}
