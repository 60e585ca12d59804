import pg from "pg";
import { parseIntoClientConfig } from "pg-connection-string";
import type { Log } from "../log.ts";
import { tracing, withSpan } from "../tracing.ts";
import { DatabaseStartError } from "./failure.ts";
import { closeConnection } from "./patches/pg-close-connection.ts";
import { createPreparing } from "./preparing.ts";

/** The restricted role: reads and writes rows, owns nothing, cannot change audit events. */
export const appRole = "atrium_app";

/** Patience with the database, in milliseconds. A wait and an answer together stay below the 10 s of decisions 16.1. */
export const patience = { poolWaitMs: 2_000, statementMs: 5_000, answerMs: 6_000, idleInTransactionMs: 10_000 };

// `date` and `interval` as the text they are; node-postgres would make local times of them.
const types = new pg.TypeOverrides();
for (const oid of [1082, 1186]) types.setTypeParser(oid, (text: string) => text);

type Send = (...args: unknown[]) => unknown;

/** One for all connections of the process: they run the same statements. */
const preparing = createPreparing();

/** A connection that works as the restricted role or not at all, and is closed when a query takes too long. */
class BoundedClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config);
    const send = super.query.bind(this) as unknown as Send;
    // Nothing else listens while the role is checked, and an error without a listener ends the process.
    this.on("error", () => undefined);
    this.connect = this.#connectProven(super.connect.bind(this), send);
    const bounded: Send = (...given) => {
      const args = named(given);
      const timer = setTimeout(() => {
        closeConnection(this, new Error("Connection terminated: no answer from the database in time"));
      }, patience.answerMs);
      const callback = args.at(-1);
      if (typeof callback === "function") {
        args[args.length - 1] = (...results: unknown[]) => {
          clearTimeout(timer);
          (callback as Send)(...results);
        };
        return send(...args);
      }
      const answer = tracing() ? withSpan(nameOf(args[0]), () => send(...args), spanFacts) : send(...args);
      if (answer instanceof Promise) {
        return answer.then(
          (result: unknown) => {
            clearTimeout(timer);
            return result;
          },
          (error: unknown) => {
            clearTimeout(timer);
            preparing.failed(error);
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
   * `connect` that also proves the role: a pooler may drop the option that sets it, and what the service connects as
   * may own the tables and change audit events.
   */
  #connectProven(connect: () => Promise<unknown>, send: Send): pg.Client["connect"] {
    const proven = async (): Promise<void> => {
      await connect();
      const timer = setTimeout(() => closeConnection(this), patience.answerMs);
      try {
        const { rows } = (await send("select current_user as role")) as pg.QueryResult<{ role: string }>;
        if (rows[0]?.role !== appRole) throw wrongRole(this, rows[0]?.role ?? "nobody");
      } catch (error) {
        closeConnection(this);
        throw error;
      } finally {
        clearTimeout(timer);
      }
    };
    const either = (callback?: (error?: Error) => void): unknown => {
      if (callback === undefined) return proven();
      return void proven().then(
        () => callback(),
        (error: unknown) => callback(error as Error),
      );
    };
    return either as pg.Client["connect"];
  }
}

function wrongRole({ host, port, database }: pg.Client, role: string): DatabaseStartError {
  return new DatabaseStartError(
    `The database ${database ?? "postgres"} at ${host}:${port} runs statements as ${role} and not as ${appRole}: ` +
      "something in between, such as a connection pooler, drops the start-up option that sets the role; " +
      'let it pass "options", or connect without it.',
  );
}

/** A statement with values, with a name where it is to be prepared. */
function named(args: readonly unknown[]): unknown[] {
  const [text, values, ...rest] = args;
  const name =
    typeof text === "string" && Array.isArray(values) && values.length > 0 ? preparing.nameOf(text) : undefined;
  return name === undefined ? [...args] : [{ name, text, values }, ...rest];
}

/** What every span of a statement says. */
export const spanFacts = { "db.system.name": "postgresql" };

/** Name of a statement in traces: its verb and its first table. Never its text, which may hold values. */
function nameOf(query: unknown): string {
  const text = typeof query === "string" ? query : ((query as { text?: string } | undefined)?.text ?? "");
  const verb = /\w+/.exec(text)?.[0].toLowerCase() ?? "statement";
  const table = /\b(?:from|into|update|join)\s+"?(\w+)/i.exec(text)?.[1];
  return table === undefined ? `SQL ${verb}` : `SQL ${verb} ${table}`;
}

/** How to reach a database, without what a person may not see. */
export function describeDatabase(url: string): string {
  const { host, port, database } = parseIntoClientConfig(url);
  return `${database ?? "postgres"} at ${host ?? "localhost"}:${port ?? 5432}`;
}

/** Settings for a connection that works as the restricted role from its first statement on. */
function appConfig(url: string): pg.ClientConfig {
  const config = parseIntoClientConfig(url);
  return {
    ...config,
    // `role` in the start-up packet is SET ROLE without a round trip, and RESET ROLE comes back to it.
    options: [config.options, `-c role=${appRole}`].filter(Boolean).join(" "),
    application_name: config.application_name ?? "atrium",
    statement_timeout: patience.statementMs,
    idle_in_transaction_session_timeout: patience.idleInTransactionMs,
    keepAlive: true,
    // Statements of a transaction that do not wait for one another travel together and are answered in their order.
    pipeline: true,
    types,
  };
}

/** Silence after a line about lost connections, milliseconds: a server that ends closes all of them at once. */
const QUIET_MS = 1_000;

/** Logs that connections are lost: once for many, with the code and without the stack, which is the driver's. */
function createLossNote(log: Log): (error: Error & { code?: string }) => void {
  let last = -Infinity;
  return ({ code, message }) => {
    const now = performance.now();
    if (now - last < QUIET_MS) return log.debug({ err: { code, message } }, "database connection lost");
    last = now;
    return log.warn({ err: { code, message } }, "database connection lost");
  };
}

/** A pool of connections in the restricted role. Nobody waits longer than 2 s for one of them. */
export function appPool(url: string, max: number, log: Log): pg.Pool {
  const pool = new pg.Pool({
    ...appConfig(url),
    max,
    Client: BoundedClient,
    connectionTimeoutMillis: patience.poolWaitMs,
    idleTimeoutMillis: 60_000,
  });
  // Without listeners a dropped connection would end the process; the pool has replaced it already.
  pool.on("error", createLossNote(log));
  // A connection that comes back inside a transaction is not given to anybody else.
  pool.on("release", (_error, client) => {
    const status = client.getTransactionStatus();
    if (status === "T" || status === "E") void client.end().catch(() => undefined);
  });
  pool.on("connect", (client) => client.on("error", (error) => log.debug({ err: error }, "database connection error")));
  return pool;
}

/** Settings for the owner of the schema: no statement limits, since a migration may take its time. */
export function ownerConfig(url: string): pg.PoolConfig {
  return {
    ...parseIntoClientConfig(url),
    application_name: "atrium-migrations",
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    types,
  };
}
