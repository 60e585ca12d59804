import type { HandlerContext } from "@connectrpc/connect";
import { callerKey, requestInfo } from "./caller.ts";
import type { Caller, RequestInfo } from "./caller.ts";
import type { Database, Effect, Tx } from "./db/types.ts";
import { errors } from "./errors.ts";

/** One request, as every use case takes it: its first parameter. */
export interface RequestContext {
  /** The verified caller; undefined on public routes. */
  readonly caller: Caller | undefined;
  readonly info: RequestInfo;
  /** Set when the request carries an Idempotency-Key: its one transaction commits together with the answer. */
  readonly effect: Effect | undefined;
  /** Aborted when the request's deadline passes; undefined for a request without one. */
  readonly signal: AbortSignal | undefined;
  /**
   * Runs `work` in a transaction on behalf of this request: it commits only while the caller still has the credential
   * and the power they were authenticated with, before the deadline, and together with the answer where the request
   * carries an Idempotency-Key (see `Database.transaction`).
   * @throws {unauthorized} when the caller's credential or power has ended meanwhile
   */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}

/** A request whose caller is authenticated. */
export interface CallerContext extends RequestContext {
  readonly caller: Caller;
}

/** Makes contexts of the requests that handlers serve. */
export interface RequestContexts {
  /** Of a public rpc: the caller is known where a credential came along. */
  public(call: Pick<HandlerContext, "values">): RequestContext;
  /**
   * Of an rpc behind the gate.
   * @throws {unauthorized} when there is no caller
   */
  authenticated(call: Pick<HandlerContext, "values">): CallerContext;
}

class Context<C extends Caller | undefined> implements RequestContext {
  readonly caller: C;
  readonly info: RequestInfo;
  readonly #database: Pick<Database, "transaction">;

  constructor(database: Pick<Database, "transaction">, caller: C, info: RequestInfo) {
    this.#database = database;
    this.caller = caller;
    this.info = info;
  }

  get effect(): Effect | undefined {
    return this.caller?.effect;
  }

  get signal(): AbortSignal | undefined {
    return this.caller?.signal ?? this.info.signal;
  }

  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#database.transaction(work, this.caller ?? this.info);
  }
}

/** A context of a caller, or of a public request where `caller` is undefined. */
export function createRequestContext<C extends Caller | undefined>(
  database: Pick<Database, "transaction">,
  caller: C,
  info: RequestInfo,
): RequestContext & { readonly caller: C } {
  return new Context(database, caller, info);
}

/** Contexts whose transactions run on `database`. */
export function createRequestContexts(database: Pick<Database, "transaction">): RequestContexts {
  return {
    public: (call) => createRequestContext(database, call.values.get(callerKey), requestInfo(call)),
    authenticated(call) {
      const caller = call.values.get(callerKey);
      if (caller === undefined) throw errors.unauthorized();
      return createRequestContext(database, caller, requestInfo(call));
    },
  };
}
