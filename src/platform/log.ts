import { pino } from "pino";
import type { DestinationStream, Logger } from "pino";

/** A structured logger; `log.info({requestId}, "text")`. */
export type Log = Logger;
/** From the most to the least talkative. */
export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

const secretFields = [
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
const depths = ["", "*.", "*.*.", "*.*.*."];
const paths = secretFields.flatMap((field) =>
  depths.map((depth) => (field.includes("-") ? `${depth.slice(0, -1)}["${field}"]` : `${depth}${field}`)),
);

/**
 * JSON lines on standard output (or `destination`). Members whose names tell of a secret are replaced, down to four
 * levels; `code` is not redacted on errors, where it is the name of the error.
 */
export function createLog(options: { level: LogLevel; destination?: DestinationStream }): Log {
  const settings = {
    level: options.level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: paths.filter((path) => !/\*\.code$/.test(path)), censor: "[redacted]" },
    serializers: { err: (error: unknown) => describeError(error) },
  };
  return options.destination === undefined ? pino(settings) : pino(settings, options.destination);
}

/** Causes within causes that are told. */
const deepestCause = 5;

/**
 * An error as it is logged: name, message, stack, causes, and its members that are plain values. Objects that drivers
 * hang on their errors (a connection, its queries and their values) stay out.
 */
export function describeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return error;
  const plain = Object.entries(error).filter(([, value]) => ["string", "number", "boolean"].includes(typeof value));
  const { cause } = error;
  const errors = error instanceof AggregateError ? error.errors : undefined;
  return {
    ...Object.fromEntries(plain),
    type: error.name === "Error" ? error.constructor.name : error.name,
    message: error.message,
    stack: error.stack,
    ...(cause !== undefined && depth < deepestCause && { cause: describeError(cause, depth + 1) }),
    ...(errors !== undefined && depth < deepestCause && { errors: errors.map((one) => describeError(one, depth + 1)) }),
  };
}

/** Says nothing; for tests. */
export const silentLog: Log = pino({ level: "silent" });
