import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { verifyExport } from "../domains/auth-events/index.ts";
import type { ProofResult } from "../domains/auth-events/index.ts";

/** What is to be proven with which keys. */
export interface VerifyAuditOptions {
  /** An export, NDJSON or JSON. */
  file: string;
  /** A JWK Set: a file, or an http(s) URL. */
  jwks: string;
  /** Folders that relative paths may be meant from; the first that has the file wins. */
  folders: readonly string[];
  /** Standard output, and standard error. */
  say(line: string): void;
  complain(line: string): void;
}

const FETCH_MS = 10_000;

/**
 * Proves an exported audit log without the service. @returns the exit code: 0 valid, 1 not, 2 when that cannot be
 * judged
 */
export async function verifyAudit({ file, jwks, folders, say, complain }: VerifyAuditOptions): Promise<number> {
  const find = (path: string): string =>
    folders.map((folder) => resolve(folder, path)).find((one) => existsSync(one)) ?? path;
  try {
    const keys: unknown = JSON.parse(
      /^https?:\/\//u.test(jwks) ? await fetched(jwks) : await readFile(find(jwks), "utf8"),
    );
    const result = await verifyExport(find(file), keys);
    say(describe(result));
    return result.problem === null ? 0 : 1;
  } catch (error) {
    complain(`atrium: ${(error as Error).message}`);
    return 2;
  }
}

async function fetched(url: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(FETCH_MS) }).catch((cause: unknown) => {
    throw new Error(`the key set ${url} cannot be had`, { cause });
  });
  if (!response.ok) throw new Error(`the key set ${url} answers ${response.status}`);
  return response.text();
}

function describe({ events, purged, outside, problem, head }: ProofResult): string {
  if (problem !== null) {
    const where =
      problem.eventId === null
        ? ""
        : `event ${problem.eventId}${problem.sequence === null ? "" : ` (number ${problem.sequence})`}: `;
    return `NOT VALID: ${where}${problem.message}`;
  }
  if (head === null) return "Valid: the export has no events.";
  const left = [purged > 0 ? `${purged} purged` : "", outside > 0 ? `${outside} outside its times` : ""].filter(
    (text) => text !== "",
  );
  return `Valid: ${events} events${left.length === 0 ? "" : `, links of ${left.join(" and ")}`}, up to number ${head.sequence}, signed by key ${head.kid} at ${head.at}.`;
}
