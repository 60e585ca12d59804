import type { Message } from "@bufbuild/protobuf";
import { createContextValues } from "@connectrpc/connect";
import type { ContextValues } from "@connectrpc/connect";
import { checkBodyHeaders, hasBody, readBody } from "./body.ts";
import { isKnown } from "./conditional.ts";
import { RestContext, mediaTypeKey } from "./context.ts";
import { printConnectError } from "./errors.ts";
import type { PathText } from "./input.ts";
import { captured } from "./matcher.ts";
import { negotiate } from "./media.ts";
import { Refusal } from "./refusal.ts";
import type { Target } from "./route.ts";
import { compressed, send, vary } from "./send.ts";
import type { Answer } from "./send.ts";
import { sendStream } from "./stream.ts";
import type { Limits, NodeRequest, NodeResponse, Outcome, PrintedError, Route, TranscoderOptions } from "./types.ts";

const noText: readonly PathText[] = [];
const noParams: Readonly<Record<string, string>> = Object.freeze({});

/** One request and its response over REST. */
export class RestExchange implements Outcome {
  readonly request: NodeRequest;
  readonly response: NodeResponse;
  readonly values: ContextValues;
  readonly options: TranscoderOptions;
  readonly limits: Limits;
  target: Target | undefined;
  context: RestContext | undefined;
  /** The response has been handed to Node, or the client has disconnected. */
  over = false;
  /** The head of a streaming response has been written. */
  started = false;
  error: unknown = undefined;
  status: number | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(request: NodeRequest, response: NodeResponse, options: TranscoderOptions, limits: Limits) {
    this.request = request;
    this.response = response;
    this.options = options;
    this.limits = limits;
    this.values = options.contextValues?.(request) ?? createContextValues();
  }

  get route(): Route | undefined {
    return this.target?.route;
  }

  get responseHeader(): Headers | undefined {
    return this.context?.existingResponseHeader;
  }

  /** Serves a request whose binding is known: gate, message, implementation, response. */
  async serve(target: Target, segments: readonly string[], query: string | undefined): Promise<void> {
    this.target = target;
    const { request, response } = this;
    const timeout = request.headers["connect-timeout-ms"] as string | undefined;
    const timeoutMs = timeout !== undefined && /^\d{1,10}$/.test(timeout) ? Number(timeout) : undefined;
    const context = new RestContext(target.route.method, request, this.values, this.options.shutdownSignal, timeoutMs);
    this.context = context;
    response.on("close", () => this.gone());
    if (timeoutMs !== undefined) this.startTimer(timeoutMs);
    try {
      const { variables, steps } = target.template;
      let path = noText;
      if (variables.length > 0) {
        const open = steps[steps.length - 1] === "**";
        path = variables.map((variable) => captured(segments, variable, open && variable.to === steps.length));
      }
      if (this.options.gate !== undefined) {
        const params =
          variables.length === 0
            ? noParams
            : Object.fromEntries(variables.map((variable, i) => [variable.path, (path[i] as PathText).text]));
        const gated = this.options.gate(context, params, target.route);
        if (gated !== undefined) await gated;
      }
      if (timeout !== undefined && timeoutMs === undefined) {
        throw new Refusal(
          "malformed_header",
          "Connect-Timeout-Ms must be a whole number of milliseconds of at most 10 digits",
        );
      }
      if (this.over) return;
      const mediaType = this.negotiated(target);
      const body = this.body(target);
      const bytes = body instanceof Promise ? await body : body;
      if (this.over) return;
      const message = target.input.make(path, query, bytes, request.headers["content-type"] ?? "");
      if (target.stream !== undefined)
        return await sendStream(this, target, context, target.stream(message, context), mediaType);
      const result = target.unary?.(message, context);
      const output = result instanceof Promise ? await result : (result as Message);
      if (this.over) return;
      const sent = this.succeed(target, output, mediaType);
      if (sent !== undefined) await sent;
    } catch (error) {
      this.fail(error);
    }
  }

  private negotiated(target: Target): string {
    const { offers } = target;
    if (offers.length === 1) return offers[0] as string;
    const chosen = negotiate(this.request.headers.accept, offers);
    if (chosen === undefined) throw new Refusal("not_acceptable", `this can be had as ${offers.join(" or ")}`);
    this.values.set(mediaTypeKey, chosen);
    return chosen;
  }

  /** The body of the request; undefined where the binding takes none or none was sent. */
  private body({ input, taken }: Target): Buffer | Promise<Buffer> | undefined {
    const { request } = this;
    if (input.body === "none" || !hasBody(request)) return undefined;
    const { bodyBytes } = this.limits;
    checkBodyHeaders(request, taken, bodyBytes);
    return readBody(request, taken, bodyBytes);
  }

  /** Prints and sends the response of a unary call; returns a promise only when it is compressed. */
  private succeed(target: Target, message: Message, mediaType: string): Promise<void> | undefined {
    const context = this.context as RestContext;
    const headers: string[] = [];
    let contentType =
      context.existingResponseHeader === undefined
        ? mediaType
        : copied(context.existingResponseHeader, headers, mediaType);
    if (target.offers.length > 1) vary(this.response, headers, "accept");
    const { status } = target;
    if (status === 204 || status === 304 || (status >= 300 && status < 400)) {
      this.answer({ status, headers, body: status === 204 || status === 304 ? undefined : "" });
      return undefined;
    }
    const etag = context.existingResponseHeader?.get("etag") ?? undefined;
    if (status === 200 && etag !== undefined && isKnown(this.request, etag)) {
      this.answer({ status: 304, headers, body: undefined });
      return undefined;
    }
    const raw = target.raw(message);
    if (raw !== undefined && raw.contentType !== "") contentType = raw.contentType;
    const body = raw === undefined ? target.print(message, mediaType) : raw.data;
    headers.push("content-type", contentType);
    const answer: Answer = { status, headers, body };
    if (this.request.headers["accept-encoding"] !== undefined && body.length >= this.limits.compressMinBytes) {
      return compressed(this.request, this.response, answer, contentType).then((smaller) => {
        if (!this.over) this.answer(smaller);
      });
    }
    this.answer(answer);
    return undefined;
  }

  /** Adds the headers of every response, unless this one has them already; what it varies by is added. */
  addHeaders(headers: string[]): void {
    const more = this.options.answerHeaders?.(this.values);
    if (more === undefined) return;
    for (let i = 0; i < more.length; i += 2) {
      const [name, value] = [more[i] as string, more[i + 1] as string];
      if (name === "vary") vary(this.response, headers, value);
      else if (!headers.includes(name)) headers.push(name, value);
    }
  }

  /** Sends a complete response. */
  answer(answer: Answer): void {
    this.finish(undefined, answer.status);
    this.send(answer);
  }

  /** A response that Node refuses to send (a header with a line break, for example) closes the connection. */
  private send(answer: Answer): void {
    this.addHeaders(answer.headers);
    try {
      send(this.request, this.response, answer);
    } catch {
      this.response.destroy();
    }
  }

  /** Responds with an error; does nothing when a response has been sent. */
  fail(thrown: unknown): void {
    if (this.over) return;
    const error = this.translated(thrown);
    const printed = this.printed(error);
    this.finish(error);
    const { vary: varies, ...more } = printed.headers;
    const headers = Object.entries(more).flat();
    if (varies !== undefined) vary(this.response, headers, varies);
    const { status } = printed;
    this.send({ status, headers, body: printed.body });
  }

  /** Returns the program's own error for a refusal of the library. */
  translated(error: unknown): unknown {
    return error instanceof Refusal ? (this.options.refuse?.(error) ?? error) : error;
  }

  /** An error as text; one that cannot be printed is `internal`. */
  printed(error: unknown): PrintedError {
    try {
      return this.options.printError?.(error, this) ?? printConnectError(error);
    } catch {
      return printConnectError(undefined);
    }
  }

  /** Marks the call as finished and reports its outcome. */
  finish(error: unknown, status?: number): void {
    this.over = true;
    this.error = error;
    this.status = status;
    if (this.timer !== undefined) clearTimeout(this.timer);
    this.context?.end(error);
    this.options.finished?.(this);
  }

  private gone(): void {
    if (!this.over) this.finish(this.translated(new Refusal("canceled", "the client went away")));
  }

  private startTimer(timeoutMs: number): void {
    const passed = (): void => {
      const error = new Refusal("deadline_exceeded", "the deadline passed before the operation was done");
      if (this.started) this.context?.end(this.translated(error));
      else this.fail(error);
    };
    this.timer = setTimeout(passed, Math.min(timeoutMs, 0x7fffffff));
  }
}

/** Copies what the handler set, and returns the content type. */
function copied(from: Headers, headers: string[], mediaType: string): string {
  let contentType = mediaType;
  from.forEach((value, name) => {
    if (name === "content-type") contentType = value;
    else if (!hopByHop.has(name)) headers.push(name, value);
  });
  return contentType;
}

/** Headers that Node sets, or that belong to one connection. */
const hopByHop = new Set(["connection", "content-length", "keep-alive", "transfer-encoding", "upgrade", "trailer"]);
