import type { ContextValues, HandlerContext } from "@connectrpc/connect";
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

/** A request whose caller is authenticated; on an open stream, `caller` is always the present one. */
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

abstract class Context<C extends Caller | undefined> implements RequestContext {
  abstract readonly caller: C;
  readonly info: RequestInfo;
  readonly #database: Pick<Database, "transaction">;

  constructor(database: Pick<Database, "transaction">, info: RequestInfo) {
    this.#database = database;
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

class FixedContext<C extends Caller | undefined> extends Context<C> {
  override readonly caller: C;

  constructor(database: Pick<Database, "transaction">, caller: C, info: RequestInfo) {
    super(database, info);
    this.caller = caller;
  }
}

/** The caller of a stream may change while it is open: the server replaces it with the present one. */
class CallContext extends Context<Caller> {
  readonly #values: ContextValues;

  constructor(database: Pick<Database, "transaction">, values: ContextValues, info: RequestInfo) {
    super(database, info);
    this.#values = values;
  }

  override get caller(): Caller {
    return this.#values.get(callerKey) as Caller;
  }
}

/** A context of a caller, or of a public request where `caller` is undefined. */
export function createRequestContext<C extends Caller | undefined>(
  database: Pick<Database, "transaction">,
  caller: C,
  info: RequestInfo,
): RequestContext & { readonly caller: C } {
  return new FixedContext(database, caller, info);
}

/** Contexts whose transactions run on `database`. */
export function createRequestContexts(database: Pick<Database, "transaction">): RequestContexts {
  return {
    public: (call) => createRequestContext(database, call.values.get(callerKey), requestInfo(call)),
    authenticated(call) {
      if (call.values.get(callerKey) === undefined) throw errors.unauthorized();
      return new CallContext(database, call.values, requestInfo(call));
    },
  };
}
