import { OptimisticLockError } from "@mikro-orm/core";
import { StartError } from "../start-error.ts";
import { errors, ServiceError } from "../errors.ts";
import { isStalePlan } from "./statement-names.ts";

/** The database cannot be reached, prepared or used; the message is one line and free of secrets. */
export class DatabaseStartError extends StartError {}

/** Network and SQLSTATE codes that mean "the database is away", not "the statement is wrong". */
const away = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT",
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
/** node-postgres has no codes for these. */
const awayTexts = [
  "timeout exceeded when trying to connect",
  "Connection terminated",
  "Client has encountered a connection error",
  "Client was closed",
  "Query read timeout",
  "Cannot use a pool after",
];
const awayText = new RegExp(`^(${awayTexts.join("|")})`);
const again = new Set(["40001", "40P01"]);
/** A text holds a NUL, which PostgreSQL cannot store; JSON never brings one this far, binary messages can. */
const unstorable = new Set(["22021", "22P05"]);

/** Raised by the functions of the database that judge callers. */
const refused = "AT401";

function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : undefined;
}

/** The database cannot be reached, is full, shuts down, or does not answer in time. */
export function isUnavailable(error: unknown): boolean {
  const code = codeOf(error);
  if (code !== undefined && (away.has(code) || /^(08|53|58)...$/.test(code))) return true;
  return error instanceof Error && awayText.test(error.message);
}

/** The same transaction may well succeed when it is run again. */
export function isRetryable(error: unknown): boolean {
  const code = codeOf(error);
  return (code !== undefined && again.has(code)) || error instanceof OptimisticLockError || isStalePlan(error);
}

/**
 * A statement failed because one before it in the same transaction had: nothing runs in it any more
 * (in_failed_sql_transaction), nor has anything been prepared in it since (invalid_sql_statement_name).
 */
export function isConsequence(error: unknown): boolean {
  return ["25P02", "26000"].includes(codeOf(error) ?? "");
}

/** A caller no longer has the credential or the power they were authenticated with. */
export function isRefused(error: unknown): boolean {
  return codeOf(error) === refused;
}

/**
 * What a caller gets: `unauthorized` for one who was judged again, `unavailable` for a database that is away,
 * `bad_request` for text it cannot hold, everything else as it is.
 */
export function mapFailure(error: unknown): unknown {
  if (error instanceof ServiceError) return error;
  if (isRefused(error)) return errors.unauthorized({ cause: error });
  if (isUnavailable(error) || isRetryable(error) || error instanceof DatabaseStartError)
    return errors.unavailable({ retryAfter: 1, cause: error });
  if (unstorable.has(codeOf(error) ?? ""))
    return errors.badRequest({ message: "A text holds a NUL character.", cause: error });
  return error;
}

/** Name of the unique, exclusion, check or foreign key constraint that refused a write; undefined for other errors. */
export function violatedConstraint(error: unknown): string | undefined {
  if (!codeOf(error)?.startsWith("23")) return undefined;
  const name = (error as { constraint?: unknown }).constraint;
  return typeof name === "string" ? name : undefined;
}
