import { pino } from "pino";
import type { Logger } from "pino";
import { openOutput, STANDARD_OUTPUT } from "./log-output.ts";
import type { Output } from "./log-output.ts";

/** A structured logger; `log.info({requestId}, "text")`. */
export type Log = Logger;
/** From the most to the least verbose. */
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const SECRET_FIELDS = [
  "authorization",
  "cookie",
  "set-cookie",
  "password",
  "current_password",
  "token",
  "access_token",
  "refresh_token",
  "mfa_token",
  "dev_token",
  "secret",
  "client_secret",
  "code",
  "recovery_code",
  "private_key",
  "privateKey",
  "api_key",
];
const DEPTHS = ["", "*.", "*.*.", "*.*.*."];
const paths = SECRET_FIELDS.flatMap((field) =>
  DEPTHS.map((depth) => (field.includes("-") ? `${depth.slice(0, -1)}["${field}"]` : `${depth}${field}`)),
);

/**
 * Creates a logger that writes JSON lines to standard output or `destination`. Values of members with secret names are
 * redacted down to four levels; `code` is redacted at the top only, because it names the error inside errors.
 */
export function createLog(options: { level: LogLevel; destination?: Output }): Log {
  const settings = {
    level: options.level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: paths.filter((path) => !/\*\.code$/.test(path)), censor: "[redacted]" },
    serializers: { err: (error: unknown) => describeError(error) },
  };
  return pino(settings, options.destination ?? openOutput(STANDARD_OUTPUT));
}

/** Maximum depth of logged causes. */
const MAX_CAUSE_DEPTH = 5;

/**
 * An error without its stacks, for what fails because something else is away: an outage writes many lines, and the
 * place that met it says nothing.
 */
export const withoutStack = (error: unknown): unknown => describeError(error, false);

/** Members of PostgreSQL's errors that repeat values of the row or the statement. */
const VALUES_OF_ROWS: ReadonlySet<string> = new Set(["detail", "where", "internalQuery"]);

/**
 * An error as it is logged: name, message, stack, causes, and members with plain values. Objects that drivers attach to
 * their errors (a connection, its queries and their values) are left out, and so are values of rows.
 */
function describeError(error: unknown, hasStack = true, depth = 0): unknown {
  if (!(error instanceof Error)) return error;
  const plain = Object.entries(error).filter(
    ([name, value]) => ["string", "number", "boolean"].includes(typeof value) && !VALUES_OF_ROWS.has(name),
  );
  const { cause } = error;
  const errors = error instanceof AggregateError ? error.errors : undefined;
  return {
    ...Object.fromEntries(plain),
    type: error.name === "Error" ? error.constructor.name : error.name,
    message: error.message,
    ...(hasStack && { stack: error.stack }),
    ...(cause !== undefined && depth < MAX_CAUSE_DEPTH && { cause: describeError(cause, hasStack, depth + 1) }),
    ...(errors !== undefined &&
      depth < MAX_CAUSE_DEPTH && { errors: errors.map((one) => describeError(one, hasStack, depth + 1)) }),
  };
}

/** Logs nothing; for tests. */
export const silentLog: Log = pino({ level: "silent" });
