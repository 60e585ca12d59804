import { parseIntoClientConfig } from "pg-connection-string";
import type { Reader } from "./reader.ts";

/**
 * Modes of TLS that the driver takes for `verify-full`, with a warning of many lines that they will mean less one day.
 * With `uselibpqcompat` they mean what they mean to psql.
 */
const STRICT_ALIASES = /(?<=[?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/u;

/** Reads a URL of PostgreSQL. A file of certificates that it names and that cannot be read is a problem. */
export function readDatabaseUrl(read: Reader, name: string): string | undefined {
  const given = read.url(name, ["postgres", "postgresql"], { secret: true });
  if (given === undefined) return undefined;
  const url = given.includes("uselibpqcompat=") ? given : given.replace(STRICT_ALIASES, "verify-full");
  try {
    parseIntoClientConfig(url);
    return url;
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    // Other errors may contain the password.
    const problem = path === undefined ? "it cannot be parsed" : `the file ${path} cannot be read`;
    read.problem(`${name}: ${problem} (${code ?? "unknown error"})`);
    return undefined;
  }
}
