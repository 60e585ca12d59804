/**
 * Settings on which the meaning of statements and the form of their results depend. Administrators give roles and
 * databases other ones (`alter role … set`); those in a start-up packet win over them.
 */
const SETTINGS: Readonly<Record<string, string>> = {
  // node-postgres reads times in this style only.
  datestyle: "ISO",
  intervalstyle: "postgres",
  timezone: "UTC",
  extra_float_digits: "1",
  standard_conforming_strings: "on",
  // Where migrations grant the restricted role its rights.
  search_path: "public",
  // Above it, a statement does not see what the transaction has waited for, and the transaction of the liveness lock,
  // which never ends, would keep vacuum and index builds waiting.
  default_transaction_isolation: "read committed",
  // Waits are bounded by the time limits of statements, and by those that migrations set.
  lock_timeout: "0",
  idle_session_timeout: "0",
  // Shows that these settings have arrived.
  "atrium.options": "passed",
};

/** SQL that is true in a connection whose start-up options have arrived; some poolers drop them. */
export const HAS_OPTIONS = `current_setting('atrium.options', true) is not distinct from 'passed'`;

/** Returns start-up options that follow `given`, with these settings besides the ones of every connection. */
export function sessionOptions(given: string | undefined, settings: Readonly<Record<string, string>>): string {
  const all = Object.entries({ ...SETTINGS, ...settings });
  const options = all.map(([name, value]) => `-c ${name}=${value.replaceAll(" ", "\\ ")}`);
  return [given, ...options].filter(Boolean).join(" ");
}

/**
 * Returns SQL that lets transactions last as long as they need. It is no start-up option, because PostgreSQL 16 would
 * refuse one that it does not know.
 */
export const withoutTransactionTimeout = (of: "session" | "this transaction"): string =>
  `select set_config(name, '0', ${of === "this transaction"}) from pg_settings where name = 'transaction_timeout'`;
