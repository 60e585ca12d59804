import { OptimisticLockError } from "@mikro-orm/core";
import { StartError } from "../start-error.ts";
import { errors, ServiceError } from "../errors.ts";
import { isStalePlan } from "./statement-names.ts";

/** The database cannot be reached, migrated or used. The message has one line and contains no secrets. */
export class DatabaseStartError extends StartError {}

/** A connection does not run its statements in the restricted role. */
export class WrongRoleError extends DatabaseStartError {}

/** Network and SQLSTATE codes of an unavailable database, as opposed to a wrong statement. */
const UNAVAILABLE = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT",
  // This process or its machine has no file descriptor, port or buffer left for a connection.
  "EMFILE",
  "ENFILE",
  "EADDRNOTAVAIL",
  "ENOBUFS",
  "57014",
  "57P01",
  "57P02",
  "57P03",
  "57P05",
  "25006",
  "25P02",
  "25P03",
  "55P03",
]);
/** What node-postgres says when no connection was free in time. */
const NO_CONNECTION = "timeout exceeded when trying to connect";
/** node-postgres has no codes for these. */
const UNAVAILABLE_TEXTS = [
  NO_CONNECTION,
  "Connection terminated",
  "Client has encountered a connection error",
  "Client was closed",
  "Query read timeout",
  "Cannot use a pool after",
  // A new connection got no answer in time.
  "timeout expired",
];
const unavailableText = new RegExp(`^(${UNAVAILABLE_TEXTS.join("|")})`);
/** Raised by the SQL function `expect_found`: another transaction has committed between two statements of this one. */
const OVERTAKEN = "AT409";
const RETRYABLE = new Set(["40001", "40P01", OVERTAKEN]);
/** A text contains NUL, which PostgreSQL cannot store. JSON with NUL is refused before; binary messages can have it. */
const UNSTORABLE = new Set(["22021", "22P05"]);
/** program_limit_exceeded: a key of an index or a row would be larger than PostgreSQL stores. */
const TOO_LARGE = "54000";

/** Raised by the SQL functions that reauthorize callers. */
const UNAUTHORIZED = "AT401";

function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : undefined;
}

/** read_only_sql_transaction: the server is a standby, or its administrator lets nothing be written. */
export const READ_ONLY = "25006";

/** Whether a statement failed because its connection can only read. */
export function isReadOnly(error: unknown): boolean {
  return codeOf(error) === READ_ONLY;
}

/** Whether a statement gave way to another transaction: to its lock (lock_not_available), or in a deadlock. */
export function hasGivenWay(error: unknown): boolean {
  return ["55P03", "40P01"].includes(codeOf(error) ?? "");
}

/** Whether a statement was canceled, by its time limit or by an administrator (query_canceled). */
export function isCanceled(error: unknown): boolean {
  return codeOf(error) === "57014";
}

/**
 * Whether a connection pooler (PgBouncer) refuses a start-up parameter, which another attempt does not change. Its code
 * is 08P01 for this as for a server that is away.
 */
export function isRefusedParameter(error: unknown): error is Error {
  return error instanceof Error && /^unsupported (options )?startup parameter/u.test(error.message);
}

/** Whether the database cannot be reached, is full, shuts down, or does not respond in time. */
export function isUnavailable(error: unknown): boolean {
  if (isRefusedParameter(error)) return false;
  const code = codeOf(error);
  if (code !== undefined && (UNAVAILABLE.has(code) || /^(08|53|58)...$/.test(code))) return true;
  return error instanceof Error && unavailableText.test(error.message);
}

/** Why an attempt to connect failed. Of a password that is missing, node-postgres says only at which step it failed. */
export function connectionReason({ message }: Error): string {
  const isMissing = /^SASL: .*client password must be/u.test(message);
  return isMissing ? "the server asks for a password, and the URL has none" : message;
}

/** Codes of an attempt to connect that failed; 53300 is too_many_connections, of the server or of a quota. */
const UNCONNECTED = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EMFILE",
  "ENFILE",
  "EADDRNOTAVAIL",
  "53300",
]);

/** Whether an error for clients says that a statement was not sent, because there was no connection for it. */
export function isUnsent(error: unknown): boolean {
  if (!(error instanceof ServiceError) || !(error.cause instanceof Error)) return false;
  const { cause } = error;
  return UNCONNECTED.has(codeOf(cause) ?? "") || cause.message.startsWith(NO_CONNECTION);
}

/** SQLSTATE codes of a database that is there, and in which a statement took or would take too long. */
const TOOK_LONG = new Set(["40001", "40P01", "55P03", "57014"]);

/** Whether an error for clients says that the database is away, so that other work would fail too. */
export function isAway(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "unavailable" && !TOOK_LONG.has(codeOf(error.cause) ?? "");
}

/** SQLSTATE codes of a database that responds and cannot work: disk_full, out_of_memory, io_error. */
const EXHAUSTED = new Set(["53100", "53200", "58030"]);

/** Whether the database responds and takes no writes. */
export function isUnwritable(error: unknown): boolean {
  return isReadOnly(error) || EXHAUSTED.has(codeOf(error) ?? "");
}

/** Whether an error for clients comes from a database that responds, so that no probe notices why it fails. */
export function isExhausted(error: unknown): boolean {
  return error instanceof ServiceError && EXHAUSTED.has(codeOf(error.cause) ?? "");
}

/** Whether the same transaction may succeed when it runs again. */
export function isRetryable(error: unknown): boolean {
  const code = codeOf(error);
  return (code !== undefined && RETRYABLE.has(code)) || error instanceof OptimisticLockError || isStalePlan(error);
}

/**
 * Whether a statement failed only because an earlier one in its transaction had (in_failed_sql_transaction, or
 * invalid_sql_statement_name for a statement whose preparation was skipped).
 */
export function isConsequence(error: unknown): boolean {
  return ["25P02", "26000"].includes(codeOf(error) ?? "");
}

/** Whether the caller has lost the credential or power they were authenticated with. */
export function isRefused(error: unknown): boolean {
  return codeOf(error) === UNAUTHORIZED;
}

/**
 * Maps an error to the one for clients: `unauthorized` when reauthorization failed, `unavailable` for an unavailable
 * database, `bad_request` for what cannot be stored. Returns every other error unchanged.
 */
export function mapFailure(error: unknown): unknown {
  if (error instanceof ServiceError) return error;
  if (isRefused(error)) return errors.unauthorized({ cause: error });
  if (isUnavailable(error) || isRetryable(error) || error instanceof DatabaseStartError)
    return errors.unavailable({ retryAfter: 1, cause: error });
  if (UNSTORABLE.has(codeOf(error) ?? ""))
    return errors.badRequest({ message: "A text holds a NUL character.", cause: error });
  if (codeOf(error) === TOO_LARGE)
    return errors.badRequest({ message: "A value is too large to be stored.", cause: error });
  return error;
}

/** Returns the name of the violated unique, exclusion, check or foreign key constraint; undefined for other errors. */
export function violatedConstraint(error: unknown): string | undefined {
  if (!codeOf(error)?.startsWith("23")) return undefined;
  const name = (error as { constraint?: unknown }).constraint;
  return typeof name === "string" ? name : undefined;
}
