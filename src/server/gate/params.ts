import type { Message } from "@bufbuild/protobuf";
import { textOf } from "../policy.ts";

/** Names of a field of a request message. */
export interface ParamField {
  /** Proto name. */
  readonly name: string;
  readonly localName: string;
}

/** The fields of a request that the gate reads: those of the path, or those of the whole message. */
export interface Params {
  /** Returns a field as text; undefined when it is not known yet. */
  text(field: ParamField): string | undefined;
}

/** Path parameters by proto name, known before the body is read. */
export class PathParams implements Params {
  readonly #params: Readonly<Record<string, string>>;

  constructor(params: Readonly<Record<string, string>>) {
    this.#params = params;
  }

  text({ name }: ParamField): string | undefined {
    return this.#params[name];
  }
}

/** Parameters of a query; of one that is given twice, which the reader of the query refuses, nothing is known. */
export class QueryParams implements Params {
  readonly #query: URLSearchParams;

  constructor(query: string) {
    this.#query = new URLSearchParams(query);
  }

  text({ name, localName }: ParamField): string | undefined {
    const values = [name, localName].flatMap((of) => this.#query.getAll(of));
    return values.length === 1 ? values[0] : undefined;
  }
}

/** Fields of the request message; unset fields are empty. */
export class MessageParams implements Params {
  readonly #message: Message;

  constructor(message: Message) {
    this.#message = message;
  }

  text({ localName }: ParamField): string {
    return textOf(this.#message, localName);
  }
}

/** Before the message is read, in protocols whose path names only the rpc. */
export const NO_PARAMS: Params = new PathParams({});
