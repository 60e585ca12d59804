import { parseIntoClientConfig } from "pg-connection-string";
import type { Reader } from "./reader.ts";

/** Reads a URL of PostgreSQL. A file of certificates that it names and that cannot be read is a problem. */
export function readDatabaseUrl(read: Reader, name: string): string | undefined {
  const url = read.url(name, ["postgres", "postgresql"], { secret: true });
  if (url === undefined) return undefined;
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
