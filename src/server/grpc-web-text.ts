import { Code, ConnectError } from "@connectrpc/connect";
import type { UniversalHandler, UniversalServerRequest, UniversalServerResponse } from "@connectrpc/connect/protocol";

const BINARY = "application/grpc-web";
const TEXT = `${BINARY}-text`;

/** Whether the content type is that of gRPC-Web in base64, which Google's clients send by default. */
export function isGrpcWebText(type: string): boolean {
  return /^application\/grpc-web-text(?:[+;]|$)/iu.test(type);
}

/** Calls a handler of gRPC-Web, which takes and returns bytes, for a client that sends and reads base64. */
export async function callWithText(
  handler: UniversalHandler,
  request: UniversalServerRequest,
): Promise<UniversalServerResponse> {
  const header = new Headers(request.header);
  header.set("content-type", BINARY + (header.get("content-type") ?? "").slice(TEXT.length));
  const body = decoded(request.body as AsyncIterable<Uint8Array>);
  const answer = await handler({ ...request, header, body });
  const type = answer.header?.get("content-type") ?? "";
  if (answer.body === undefined || !type.startsWith(BINARY)) return answer;
  answer.header?.set("content-type", TEXT + type.slice(BINARY.length));
  return { ...answer, body: encoded(answer.body) };
}

/** Four characters are three bytes; padding may end any part of the text, not only the last. */
async function* decoded(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  let rest = "";
  for await (const chunk of body) {
    const text = rest + Buffer.from(chunk).toString("latin1");
    const whole = text.length - (text.length % 4);
    rest = text.slice(whole);
    if (whole > 0) yield bytesOf(text.slice(0, whole));
  }
  if (rest !== "") throw notBase64();
}

function bytesOf(text: string): Uint8Array {
  const parts = text.match(/[\w+/-]+={0,2}/gu) ?? [];
  if (parts.join("") !== text || parts.some(({ length }) => length % 4 !== 0)) throw notBase64();
  return Buffer.concat(parts.map((part) => Buffer.from(part, "base64")));
}

async function* encoded(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  for await (const chunk of body) yield Buffer.from(Buffer.from(chunk).toString("base64"), "latin1");
}

function notBase64(): ConnectError {
  return new ConnectError("the body is not base64", Code.InvalidArgument);
}
