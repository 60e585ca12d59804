import { create } from "@bufbuild/protobuf";
import type { FileRegistry, Message } from "@bufbuild/protobuf";
import { anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";
import type { Any } from "@bufbuild/protobuf/wkt";
import { ConnectError } from "@connectrpc/connect";
import type { Code, HandlerContext } from "@connectrpc/connect";
import { setTimeout as sleep } from "node:timers/promises";
import { ServiceError } from "../../src/platform/errors.ts";
import { messageType } from "./contract.ts";

interface Header {
  name: string;
  value: string[];
}
interface SuiteError {
  code: Code;
  message?: string;
  details: Any[];
}
interface Definition {
  responseHeaders: Header[];
  responseTrailers: Header[];
  responseDelayMs: number;
}
interface UnaryDefinition extends Definition {
  response: { case: "responseData"; value: Uint8Array } | { case: "error"; value: SuiteError } | { case: undefined };
}
interface StreamDefinition extends Definition {
  responseData: Uint8Array[];
  error?: SuiteError;
}
type Request<D> = Message & { responseDefinition?: D };

/** What the conformance suite asks of a server's handlers (the comments of its service.proto). */
export function conformanceService(registry: FileRegistry) {
  const type = (name: string) => messageType(registry, name);

  function infoOf(request: Message, context: HandlerContext): Message {
    const desc = registry.getMessage(request.$typeName);
    if (desc === undefined) throw new Error(`unknown message ${request.$typeName}`);
    const timeoutMs = context.timeoutMs();
    return create(type("ConformancePayload.RequestInfo"), {
      requestHeaders: headersOf(context.requestHeader),
      requests: [anyPack(desc, request)],
      ...(timeoutMs !== undefined && { timeoutMs: BigInt(Math.round(timeoutMs)) }),
      ...(context.requestMethod === "GET" && {
        connectGetInfo: create(type("ConformancePayload.ConnectGetInfo"), {
          queryParams: headersOf(new URL(context.url).searchParams),
        }),
      }),
    });
  }

  function headersOf(entries: Iterable<[string, string]>): Message[] {
    return [...entries].map(([name, value]) => create(type("Header"), { name, value: [value] }));
  }

  /** The error of a definition; `info` is added to the details of one that ends a call without a message. */
  function failureOf({ code, message = "", details }: SuiteError, info: Message | undefined): ServiceError {
    const sent = new ConnectError(message, code);
    const messages = details.map((detail) => anyUnpack(detail, registry) as Message);
    for (const value of info === undefined ? messages : [...messages, info]) {
      const desc = registry.getMessage(value.$typeName);
      if (desc !== undefined) sent.details.push({ desc, value: value as never });
    }
    return new ServiceError([500, "internal", message], { connect: sent });
  }

  async function unary(request: Request<UnaryDefinition>, context: HandlerContext) {
    const { responseDefinition: definition } = request;
    const info = infoOf(request, context);
    if (definition !== undefined) {
      setHeaders(definition, context);
      if (definition.responseDelayMs > 0) await sleep(definition.responseDelayMs);
      if (definition.response.case === "error") throw failureOf(definition.response.value, info);
    }
    const data = definition?.response.case === "responseData" ? definition.response.value : new Uint8Array();
    return { payload: create(type("ConformancePayload"), { requestInfo: info, data }) };
  }

  return {
    unary,
    idempotentUnary: unary,
    async *serverStream(request: Request<StreamDefinition>, context: HandlerContext) {
      const { responseDefinition: definition } = request;
      if (definition === undefined) return;
      setHeaders(definition, context);
      let info: Message | undefined = infoOf(request, context);
      for (const data of definition.responseData) {
        await sleep(definition.responseDelayMs);
        const payload = create(type("ConformancePayload"), { data, ...(info !== undefined && { requestInfo: info }) });
        info = undefined;
        yield { payload };
      }
      if (definition.error !== undefined) throw failureOf(definition.error, info);
    },
  };
}

function setHeaders({ responseHeaders, responseTrailers }: Definition, context: HandlerContext): void {
  for (const { name, value } of responseHeaders) for (const one of value) context.responseHeader.append(name, one);
  for (const { name, value } of responseTrailers) for (const one of value) context.responseTrailer.append(name, one);
}
