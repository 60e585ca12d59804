import pg from "pg";
import { parseIntoClientConfig } from "pg-connection-string";
import type { Log } from "../log.ts";
import { tracing, withSpan } from "../tracing.ts";
import { closeWhenDemoted, isDemoted, readOnly } from "./demotion.ts";
import { connectionReason, DatabaseStartError, isRefusedParameter, isUnavailable, isUnwritable } from "./failure.ts";
import { closeConnection } from "./patches/pg-close-connection.ts";
import { GroupedStatement, QueryGroup } from "./patches/pg-query-group.ts";
import type { Waiting } from "./patches/pg-query-group.ts";
import { droppedOptions, refusedParameter, wrongRole } from "./pooler.ts";
import { HAS_OPTIONS, sessionOptions } from "./session-settings.ts";
import { createStatementNames } from "./statement-names.ts";

/** The restricted role: reads and writes rows, owns nothing, cannot change audit events. */
export const appRole = "atrium_app";

/** Time limits, milliseconds. The wait for a connection plus a response stays below the 10 s of decisions 16.1. */
const DATABASE_TIMEOUTS = {
  poolWaitMs: 2_000,
  statementMs: 5_000,
  responseMs: 6_000,
  idleInTransactionMs: 10_000,
};

// `date` and `interval` stay text; node-postgres would convert them to local times.
const types = new pg.TypeOverrides();
for (const oid of [1082, 1186]) types.setTypeParser(oid, (text: string) => text);

type Send = (...args: unknown[]) => unknown;

/** Shared by all connections of the process: they run the same statements. */
const statementNames = createStatementNames();

/** What a new connection has to be able to do. */
const CHECK = `select current_user as role, ${HAS_OPTIONS} as "hasOptions",
  current_setting('transaction_read_only') = 'on' as "isReadOnly"`;

/** Result of {@link CHECK}. */
interface Checked {
  role: string;
  hasOptions: boolean;
  isReadOnly: boolean;
}

/** A connection that fails unless it writes in the restricted role, and that is closed when a query takes too long. */
class BoundedClient extends pg.Client {
  /** Whether the connection was refused after it had been made, which whoever asked for it has been told. */
  isRefused = false;

  constructor(config?: pg.ClientConfig) {
    super(config);
    const send = super.query.bind(this) as unknown as Send;
    // While the role is checked there is no other listener, and an error without one would end the process.
    this.on("error", () => undefined);
    closeWhenDemoted(this);
    this.connect = this.#connectAndCheck(super.connect.bind(this), send);
    const bounded: Send = (...given) => {
      // Bounded by `sendGroup`.
      if (given[0] instanceof QueryGroup) return send(given[0]);
      const args = withName(given);
      const timer = setTimeout(closeSilent, DATABASE_TIMEOUTS.responseMs, this);
      const callback = args.at(-1);
      if (typeof callback === "function") {
        args[args.length - 1] = (...results: unknown[]) => {
          clearTimeout(timer);
          (callback as Send)(...results);
        };
        return send(...args);
      }
      const answer = tracing() ? withSpan(nameOf(args[0]), () => send(...args), SPAN_ATTRIBUTES) : send(...args);
      if (answer instanceof Promise) {
        return answer.then(
          (result: unknown) => {
            clearTimeout(timer);
            return result;
          },
          (error: unknown) => {
            clearTimeout(timer);
            statementNames.onError(error);
            throw error;
          },
        );
      }
      clearTimeout(timer);
      return answer;
    };
    this.query = bounded as unknown as pg.Client["query"];
  }

  /**
   * Connects and verifies the role: a pooler may drop the option that sets it, and the connecting user may own the
   * tables and be able to change audit events. A pooler that drops options and whose user has the role anyway may also
   * give each transaction another server, where prepared statements fail. Refuses a server that only reads, such as a
   * former primary whose name still leads to it: the connection would stay in the pool.
   */
  #connectAndCheck(connect: () => Promise<unknown>, send: Send): pg.Client["connect"] {
    const checked = async (): Promise<void> => {
      try {
        await connect();
      } catch (error) {
        throw isRefusedParameter(error) ? refusedParameter(addressOf(this), error.message) : error;
      }
      const timer = setTimeout(() => closeConnection(this), DATABASE_TIMEOUTS.responseMs);
      try {
        const [found] = ((await send(CHECK)) as pg.QueryResult<Checked>).rows;
        if (found?.role !== appRole) throw wrongRole(addressOf(this), found?.role ?? "an unknown role", appRole);
        if (!found.hasOptions) throw droppedOptions(addressOf(this));
        if (found.isReadOnly) throw readOnly();
      } catch (error) {
        this.isRefused = true;
        closeConnection(this);
        throw error;
      } finally {
        clearTimeout(timer);
      }
    };
    const either = (callback?: (error?: Error) => void): unknown => {
      if (callback === undefined) return checked();
      return void checked().then(
        () => callback(),
        (error: unknown) => callback(error as Error),
      );
    };
    return either as pg.Client["connect"];
  }
}

const addressOf = ({ host, port, database }: pg.Client): string => `${database ?? "postgres"} at ${host}:${port}`;

/** Closes a connection whose server has not responded in time. */
function closeSilent(client: pg.Client): void {
  closeConnection(client, new Error("Connection terminated: no answer from the database in time"));
}

const typeParser = (oid: number) => types.getTypeParser(oid, "text") as unknown as (text: string) => unknown;

/** Sends statements in one round trip, and calls `settled` before they are settled. */
export function sendGroup(client: pg.PoolClient, statements: readonly GroupedStatement[], settled: () => void): void {
  const timer = setTimeout(closeSilent, DATABASE_TIMEOUTS.responseMs, client);
  const group = new QueryGroup(statements, typeParser, () => {
    clearTimeout(timer);
    settled();
  });
  client.query(group as unknown as pg.Query);
}

/** Names of transactions' control statements, which are prepared too. */
const CONTROL = new Set(["begin", "commit"]);

/**
 * Makes a statement of a group.
 * @throws what a value throws that cannot be sent
 */
export function groupedStatement<R extends pg.QueryResultRow>(
  text: string,
  values: readonly unknown[],
  { resolve, reject }: Waiting<R>,
): GroupedStatement<R> {
  const name = values.length > 0 || CONTROL.has(text) ? statementNames.nameOf(text) : undefined;
  return new GroupedStatement<R>(text, name, values, {
    resolve,
    reject(error) {
      statementNames.onError(error);
      reject(error);
    },
  });
}

/** Adds a name to a statement that is to be prepared. */
function withName(args: readonly unknown[]): unknown[] {
  const [text, values, ...rest] = args;
  const name =
    typeof text === "string" && Array.isArray(values) && values.length > 0 ? statementNames.nameOf(text) : undefined;
  return name === undefined ? [...args] : [{ name, text, values }, ...rest];
}

/** Attributes of every span of a statement. */
export const SPAN_ATTRIBUTES = { "db.system.name": "postgresql" };

/** Name of a statement in traces: its verb and first table. Never its text, which may contain values. */
export function nameOf(query: unknown): string {
  const text = typeof query === "string" ? query : ((query as { text?: string } | undefined)?.text ?? "");
  const verb = /\w+/.exec(text)?.[0].toLowerCase() ?? "statement";
  const table = /\b(?:from|into|update|join)\s+"?(\w+)/i.exec(text)?.[1];
  return table === undefined ? `SQL ${verb}` : `SQL ${verb} ${table}`;
}

/** Name and address of a database, without credentials. */
export function describeDatabase(url: string): string {
  const { host, port, database } = parseIntoClientConfig(url);
  return `${database ?? "postgres"} at ${host ?? "localhost"}:${port ?? 5432}`;
}

/** Returns the error of a database that does not accept connections, with the address and without the password. */
export function connectionFailure(url: string, error: unknown, waitedMs: number): DatabaseStartError {
  if (isRefusedParameter(error)) return refusedParameter(describeDatabase(url), error.message);
  const reason = connectionReason(error instanceof AggregateError ? (error.errors[0] as Error) : (error as Error));
  const waited = `(waited ${Math.round(waitedMs / 1000)} s)`;
  const away = isUnwritable(error) ? "takes no writes" : "cannot be reached";
  const what = isUnavailable(error) ? `${away} ${waited}` : "refuses the connection";
  return new DatabaseStartError(`The database ${describeDatabase(url)} ${what}: ${reason}`, { cause: error });
}

/** Settings for a connection that has the restricted role from its first statement on. */
function appConfig(url: string): pg.ClientConfig {
  const config = parseIntoClientConfig(url);
  return {
    ...config,
    // `role` in the start-up packet is SET ROLE without a round trip, and RESET ROLE returns to it.
    options: sessionOptions(config.options, { role: appRole }),
    application_name: config.application_name ?? "atrium",
    statement_timeout: DATABASE_TIMEOUTS.statementMs,
    idle_in_transaction_session_timeout: DATABASE_TIMEOUTS.idleInTransactionMs,
    keepAlive: true,
    // Statements of a transaction that do not wait for each other are pipelined.
    pipeline: true,
    types,
  };
}

/** Minimum time between two warnings, milliseconds: a server that stops closes all connections at once. */
const WARNING_INTERVAL_MS = 1_000;

/** Logs lost connections: one warning for many, with the code and without the stack, which is the driver's. */
function createLossLogger(log: Log): (error: Error & { code?: string }) => void {
  let last = -Infinity;
  return ({ code, message }) => {
    const now = performance.now();
    if (now - last < WARNING_INTERVAL_MS) return log.debug({ err: { code, message } }, "database connection lost");
    last = now;
    return log.warn({ err: { code, message } }, "database connection lost");
  };
}

/** Creates a pool of connections with the restricted role. Waiting for one fails after 2 s. */
export function createAppPool(url: string, max: number, log: Log): pg.Pool {
  const pool = new pg.Pool({
    ...appConfig(url),
    max,
    Client: BoundedClient,
    connectionTimeoutMillis: DATABASE_TIMEOUTS.poolWaitMs,
    idleTimeoutMillis: 60_000,
  });
  // Without a listener a lost connection would end the process; the pool replaces it.
  const logLoss = createLossLogger(log);
  pool.on("error", (error, client) => {
    if (!(client instanceof BoundedClient && client.isRefused)) logLoss(error);
  });
  // A connection that is released inside a transaction is not reused, and neither is one that can no longer write.
  pool.on("release", (_error, client) => {
    const status = client.getTransactionStatus();
    if (status === "T" || status === "E" || isDemoted(client)) void client.end().catch(() => undefined);
  });
  pool.on("connect", (client) => client.on("error", (error) => log.debug({ err: error }, "database connection error")));
  return pool;
}

/** `application_name` of migrations. */
export const OWNER_APPLICATION = "atrium-migrations";

/** Settings for the owner of the schema, without time limits: a migration may take long, beside an idle connection. */
export function ownerConfig(url: string): pg.PoolConfig {
  const config = parseIntoClientConfig(url);
  return {
    ...config,
    options: sessionOptions(config.options, { statement_timeout: "0", idle_in_transaction_session_timeout: "0" }),
    application_name: OWNER_APPLICATION,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    types,
  };
}
