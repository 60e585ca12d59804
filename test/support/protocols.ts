import { create, fromJson, getOption, toJson } from "@bufbuild/protobuf";
import type { DescMessage, DescMethod, DescMethodUnary, DescService, JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { createConnectTransport as createWebTransport } from "@connectrpc/connect-web";
import { expect, it } from "vitest";
import { rest } from "../../gen/atrium/options/v1/options_pb.ts";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { HttpBodySchema } from "../../gen/google/api/httpbody_pb.ts";
import { BadRequestSchema, ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import type { TestApp } from "./app.ts";
import { namesOfRun } from "./names-of-run.ts";

/** Who calls, and with which conditions. */
export interface CallOptions {
  token?: string | undefined;
  headers?: Record<string, string>;
}

type Unary<I extends DescMessage, O extends DescMessage> = DescMethodUnary<I, O>;

/** A response in terms of the contract, whatever the protocol. */
interface Answered<O extends DescMessage> {
  message?: MessageShape<O>;
  /** As it was sent, where that is JSON. */
  written?: JsonValue | undefined;
  headers: Headers;
  refusal?: Refusal;
}

interface Refusal {
  status: number;
  code: string;
  message: string;
  /** Code of Connect and gRPC; none over REST. */
  rpc?: Code;
  scimType: string | undefined;
  /** Field violations; none in the error object of SCIM. */
  errors: { field: string; code: string; message: string }[] | undefined;
}

type Send = <I extends DescMessage, O extends DescMessage>(
  method: Unary<I, O>,
  input: MessageInitShape<I>,
  headers: Record<string, string>,
) => Promise<Answered<O>>;

/** The steps of a life: calls that must succeed and calls that must be refused. */
export interface Calls {
  ok<I extends DescMessage, O extends DescMessage>(
    method: Unary<I, O>,
    input: MessageInitShape<I>,
    options?: CallOptions,
  ): Promise<MessageShape<O>>;
  /** `refusal` is the status and the code: `404 not_found`; `rpc` the code of gRPC where the status has several. */
  refused<I extends DescMessage, O extends DescMessage>(
    method: Unary<I, O>,
    input: MessageInitShape<I>,
    refusal: string,
    options?: CallOptions & { rpc?: Code },
  ): Promise<void>;
}

/** What a step showed, with the ids, secrets and names of its run replaced. */
interface Step {
  rpc: string;
  refused: boolean;
  seen: unknown;
  written: unknown;
}

/** Codes of gRPC by status, where the contract's code does not matter (decisions 15.3). */
const rpcCodes: Readonly<Record<number, Code>> = {
  400: Code.InvalidArgument,
  401: Code.Unauthenticated,
  403: Code.PermissionDenied,
  404: Code.NotFound,
  409: Code.FailedPrecondition,
  412: Code.FailedPrecondition,
  413: Code.ResourceExhausted,
  423: Code.FailedPrecondition,
  502: Code.Unavailable,
};

const names = { useProtoFieldName: true } as const;

/** Whether a response is sent over REST as the document that it holds. */
const isDocument = ({ typeName }: DescMessage): boolean => typeName === HttpBodySchema.typeName;

/** Calls over REST, by the bindings of the contract. */
function restSender(url: string): Send {
  return async (method, input, headers) => {
    const request: DescMessage = method.input;
    const fields = toJson(request, create(request, input), names) as JsonObject;
    const all = toJson(request, create(request, input), { ...names, alwaysEmitImplicit: true }) as JsonObject;
    const { pattern, body } = getOption(method, http);
    if (pattern.case === undefined || pattern.case === "custom") throw new Error(`${method.name} has no route`);
    const path = pattern.value.replaceAll(/\{(\w+)\}/gu, (_, name: string) => {
      Reflect.deleteProperty(fields, name);
      return encodeURIComponent(all[name] as string | number);
    });
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(body === "*" ? {} : fields))
      if (name !== body) for (const one of [value].flat()) query.append(name, one as string);
    const sent = body === "" ? undefined : JSON.stringify(body === "*" ? fields : fields[body]);
    const response = await fetch(`${url}${path}${query.size > 0 ? `?${query.toString()}` : ""}`, {
      method: pattern.case.toUpperCase(),
      redirect: "manual",
      headers: { ...headers, ...(sent === undefined ? {} : { "content-type": "application/json" }) },
      ...(sent === undefined ? {} : { body: sent }),
    });
    const data = new Uint8Array(await response.arrayBuffer());
    if (response.status >= 400) return { headers: response.headers, refusal: restRefusal(response.status, data) };
    expect(response.status, `${method.name} over REST`).toBe(getOption(method, rest).status || 200);
    if (isDocument(method.output)) {
      const contentType = response.headers.get("content-type") ?? "";
      const document: DescMessage = method.output;
      const message = create(document, { contentType, data }) as MessageShape<typeof method.output>;
      return { headers: response.headers, message };
    }
    const written = JSON.parse(data.length === 0 ? "{}" : Buffer.from(data).toString()) as JsonValue;
    return { headers: response.headers, written, message: fromJson(method.output, written) };
  };
}

function restRefusal(status: number, data: Uint8Array): Refusal {
  const body = JSON.parse(Buffer.from(data).toString()) as Partial<Record<string, string>> &
    Pick<Refusal, "errors"> & { schemas?: unknown };
  const scim = body.schemas !== undefined;
  return {
    status,
    code: body["code"] ?? "",
    message: (scim ? body["detail"] : body["message"]) ?? "",
    scimType: body["scimType"],
    errors: body.errors,
  };
}

/** Calls by a generated client. */
function clientSender(transport: Transport, written: () => JsonValue | undefined = () => undefined): Send {
  return async (method, input, headers) => {
    try {
      const { message, header } = await transport.unary(method, undefined, undefined, headers, input);
      return { headers: header, message, written: written() };
    } catch (failure) {
      const error = ConnectError.from(failure);
      return { headers: error.metadata, refusal: rpcRefusal(error) };
    }
  };
}

function rpcRefusal(error: ConnectError): Refusal {
  const info = error.findDetails(ErrorInfoSchema)[0];
  if (info === undefined) throw error;
  return {
    status: Number(info.metadata["http_status"]),
    code: info.reason.toLowerCase(),
    message: error.rawMessage,
    rpc: error.code,
    scimType: info.metadata["scim_type"],
    errors: error.findDetails(BadRequestSchema)[0]?.fieldViolations.map(({ field, reason, description }) => ({
      field,
      code: reason.toLowerCase(),
      message: description,
    })),
  };
}

/** Calls over Connect with JSON, which also keeps the JSON as it was sent. */
function jsonSender(baseUrl: string): Send {
  let text = "";
  const keeping: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    text = await response.clone().text();
    return response;
  };
  const transport = createWebTransport({ baseUrl, fetch: keeping, useBinaryFormat: false });
  return clientSender(transport, () => JSON.parse(text) as JsonValue);
}

const senders = {
  REST: restSender,
  gRPC: (baseUrl) => clientSender(createGrpcTransport({ baseUrl })),
  "gRPC-Web": (baseUrl) => clientSender(createGrpcWebTransport({ baseUrl, httpVersion: "1.1" })),
  Connect: (baseUrl) => clientSender(createConnectTransport({ baseUrl, httpVersion: "1.1" })),
  "Connect with JSON": jsonSender,
} satisfies Record<string, (baseUrl: string) => Send>;

type Protocol = keyof typeof senders;

/** Response headers that a client acts on, and that every protocol has (decisions 1.3, 7.3, 8.6). */
const compared = ["etag", "location", "www-authenticate", "retry-after"];

/** A recorder of the steps of one life; `own` are names that differ between the lives, with their replacements. */
function recorderOf(app: TestApp, send: Send, own: Readonly<Record<string, string>>, steps: Step[]): Calls {
  const replace = namesOfRun(own);
  async function step<I extends DescMessage, O extends DescMessage>(
    method: Unary<I, O>,
    input: MessageInitShape<I>,
    { token, headers = {} }: CallOptions,
  ) {
    // What is listed by time would be in any order otherwise.
    app.clock.advance(1_000);
    const bearer: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const answer = await send(method, input, { ...bearer, ...headers });
    const shown = answer.message && shownOf(method.output, answer.message);
    const { rpc: _, ...refusal } = answer.refusal ?? {};
    const seenHeaders = compared.flatMap((name) => {
      const value = answer.headers.get(name);
      return value === null ? [] : [[name, value]];
    });
    steps.push({
      rpc: method.name,
      refused: answer.refusal !== undefined,
      seen: replace({ shown, refusal, headers: Object.fromEntries(seenHeaders) as object }),
      written: isDocument(method.output) ? undefined : replace(answer.written),
    });
    return answer;
  }
  return {
    async ok(method, input, options = {}) {
      const { message, refusal } = await step(method, input, options);
      if (message === undefined) throw new Error(`${method.name} was refused: ${JSON.stringify(refusal)}`);
      return message;
    },
    async refused(method, input, expected, options = {}) {
      const { refusal } = await step(method, input, options);
      if (refusal === undefined) throw new Error(`${method.name} succeeded instead of ${expected}`);
      expect(`${refusal.status} ${refusal.code}`, `${method.name}: ${refusal.message}`).toBe(expected);
      if (refusal.rpc !== undefined)
        expect(Code[refusal.rpc], method.name).toBe(Code[options.rpc ?? rpcCodes[refusal.status] ?? Code.Unknown]);
    },
  };
}

/** A message as JSON with the members it has by default; a document as its type and its text, or how DER begins. */
function shownOf(schema: DescMessage, message: MessageShape<DescMessage>): unknown {
  if (!isDocument(schema)) return toJson(schema, message, { ...names, alwaysEmitImplicit: true });
  const { contentType, data } = message as MessageShape<typeof HttpBodySchema>;
  return { contentType, text: data[0] === 0x30 ? "DER" : Buffer.from(data).toString() };
}

/** A JSON value without empty members: REST alone leaves out those that the option `omit_empty` names. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (typeof value !== "object" || value === null) return value;
  const full = Object.entries(value).filter(([, one]) => one !== "" && !(Array.isArray(one) && one.length === 0));
  return Object.fromEntries(full.map(([name, one]) => [name, withoutEmpty(one)]));
}

/** A life of an area's things. */
export interface Life<World> {
  services: readonly DescService[];
  /** Rpcs of other areas that belong to it. */
  also?: readonly DescMethod[];
  app(): TestApp;
  /** Makes an organization of its own. */
  prepare(): Promise<World>;
  live(calls: Calls, world: World): Promise<void>;
}

/** Tests that a life over every protocol shows what it shows over REST, and that it calls and breaks every rpc. */
export function sameLives<World>(what: string, life: Life<World>): void {
  const over = async (protocol: Protocol): Promise<Step[]> => {
    const steps: Step[] = [];
    const world = await life.prepare();
    const app = life.app();
    await life.live(recorderOf(app, senders[protocol](app.url), { [app.url]: "<url>" }, steps), world);
    return steps;
  };
  let told: Promise<Step[]> | undefined;
  const overRest = (): Promise<Step[]> =>
    (told ??= over("REST").catch((error: unknown) => {
      // The next test, or the next attempt at this one, begins anew.
      told = undefined;
      throw error;
    }));

  it(`${what} have a life over REST that uses and breaks every rpc`, async () => {
    const all = [...life.services.flatMap(({ methods }) => methods), ...(life.also ?? [])];
    const wanted = all.map(({ name }) => name).sort();
    const steps = await overRest();
    for (const refused of [false, true]) {
      const called = new Set(steps.filter((step) => step.refused === refused).map(({ rpc }) => rpc));
      expect([...called].sort(), refused ? "refused" : "called").toEqual(wanted);
    }
  });

  const others = (Object.keys(senders) as Protocol[]).filter((protocol) => protocol !== "REST");
  it.each(others)(`${what} have the same life over %s as over REST`, async (protocol) => {
    const [steps, expected] = [await over(protocol), await overRest()];
    const shown = ({ rpc, seen }: Step) => ({ rpc, seen });
    expect(steps.map(shown)).toEqual(expected.map(shown));
    if (protocol !== "Connect with JSON") return;
    const written = (all: Step[]) => all.map(({ rpc, written: text }) => ({ rpc, text: withoutEmpty(text) }));
    expect(written(steps)).toEqual(written(expected));
  });
}
