import type { DescMethodStreaming, DescMethodUnary, Message } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import { isHttpBody } from "./bindings.ts";
import type { Binding } from "./bindings.ts";
import { FORM } from "./form.ts";
import { inputOf } from "./input.ts";
import type { Input } from "./input.ts";
import { streamInvoker, unaryInvoker } from "./invoke.ts";
import type { InvokeStream, InvokeUnary } from "./invoke.ts";
import type { Writers } from "./json/write.ts";
import { isJson } from "./media.ts";
import type { Template } from "./template.ts";
import type { Encoder, Limits, Route, ServiceEntry, TranscoderOptions } from "./types.ts";

/** A binding with everything a request needs, compiled. */
export interface Target {
  readonly route: Route;
  readonly template: Template;
  readonly input: Input;
  /** Media types of the body. */
  readonly taken: readonly string[];
  /** Media types of the response, the default first. */
  readonly offers: readonly string[];
  readonly status: number;
  /** Prints the response in a media type; not called for raw responses. */
  print(message: Message, mediaType: string): string | Uint8Array;
  /** The raw response, where the rpc returns one. */
  raw(message: Message): { readonly contentType: string; readonly data: Uint8Array } | undefined;
  readonly unary: InvokeUnary | undefined;
  readonly stream: InvokeStream | undefined;
}

/** Caches the text of frozen messages, which are assumed to be deeply immutable. */
function once(print: (message: Message) => string): (message: Message) => string {
  const printed = new WeakMap<Message, string>();
  return (message) => {
    const known = printed.get(message);
    if (known !== undefined) return known;
    const text = print(message);
    if (Object.isFrozen(message)) printed.set(message, text);
    return text;
  };
}

/** Whether the response, or the field of it that is sent, is a `google.api.HttpBody`. */
function isRawResponse({ route, responseField }: Binding): boolean {
  if (responseField === undefined) return isHttpBody(route.method.output);
  return isHttpBody(responseField.fieldKind === "message" ? responseField.message : undefined);
}

const nameOf = ({ route: { method } }: Binding): string => `${method.parent.typeName}.${method.name}`;

function demandPrintable(
  binding: Binding,
  offers: readonly string[],
  encoders: Readonly<Record<string, Encoder>>,
): void {
  const lacking = offers.find((offer) => !isJson(offer) && encoders[offer] === undefined);
  if (lacking !== undefined) throw new Error(`${nameOf(binding)}: there is no encoder for ${lacking}`);
}

function demandReadable(binding: Binding, taken: readonly string[]): void {
  const isWhole = binding.bodyField === undefined;
  const unread = taken.find((type) => !isJson(type) && !type.endsWith("/*") && !(type === FORM && isWhole));
  if (unread !== undefined)
    throw new Error(`${nameOf(binding)}: a body of ${unread} can only be taken as google.api.HttpBody`);
}

/**
 * Compiles a binding.
 * @throws {Error} for a media type that nothing can read or print
 */
export function targetOf(
  entry: ServiceEntry,
  binding: Binding,
  writers: Writers,
  limits: Limits,
  options: TranscoderOptions,
): Target {
  const { route, responseField } = binding;
  const { method, rule } = route;
  const interceptors: readonly Interceptor[] = options.interceptors ?? [];
  const input = inputOf(binding, limits, options);
  const streams = method.methodKind === "server_streaming";
  const usual = rule.mediaType || (streams ? "application/x-ndjson" : "application/json");
  const offers = [usual, ...(rule.alternatives ?? [])];
  const { consumes = [] } = rule;
  const taken = consumes.length > 0 ? consumes : [input.body === "raw" ? "*/*" : "application/json"];
  const isRaw = isRawResponse(binding);
  const encoders = options.encoders ?? {};
  if (!isRaw) demandPrintable(binding, offers, encoders);
  if (input.body === "json") demandReadable(binding, taken);
  const whole = writers.message(method.output);
  const part = responseField === undefined ? undefined : writers.field(responseField);
  const printJson = once(part === undefined ? whole : (message) => part(message) ?? "null");
  return {
    route,
    template: binding.template,
    input,
    taken,
    offers,
    status: rule.status || 200,
    print(message, mediaType) {
      const encode: Encoder | undefined = encoders[mediaType];
      return encode === undefined ? printJson(message) : encode(message, method);
    },
    raw(message) {
      if (!isRaw) return undefined;
      const held =
        responseField === undefined
          ? message
          : (message as unknown as Record<string, unknown>)[responseField.localName];
      return (held ?? { contentType: "", data: new Uint8Array() }) as { contentType: string; data: Uint8Array };
    },
    unary: streams ? undefined : unaryInvoker(entry, method as DescMethodUnary, interceptors),
    stream: streams ? streamInvoker(entry, method as DescMethodStreaming, interceptors) : undefined,
  };
}
