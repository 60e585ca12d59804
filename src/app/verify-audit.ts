import { createReadStream, existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { verifyExport } from "../audit-proof/index.ts";
import type { ProofResult } from "../audit-proof/index.ts";

/** What to verify, and with which keys. */
export interface VerifyAuditOptions {
  /** An export, NDJSON or JSON. */
  file: string;
  /** A JWK Set: a file, or an http(s) URL. */
  jwks: string;
  /** Folders in which relative paths are looked up, in this order. */
  folders: readonly string[];
  /** Standard output, and standard error. */
  say(line: string): void;
  complain(line: string): void;
}

const FETCH_MS = 10_000;

/**
 * Verifies an exported audit log without the service.
 * @returns the exit code: 0 when it is valid or empty, 1 when it is not, 2 when it cannot be verified
 */
export async function verifyAudit({ file, jwks, folders, say, complain }: VerifyAuditOptions): Promise<number> {
  const find = (path: string): string =>
    folders.map((folder) => resolve(folder, path)).find((one) => existsSync(one)) ?? path;
  try {
    const text = /^https?:\/\//u.test(jwks) ? await fetched(jwks) : await read(jwks, readFile(find(jwks), "utf8"));
    const result = await read(file, verifyExport(createReadStream(find(file), "utf8"), parsed(jwks, text)));
    say(describe(result));
    if (result.problem !== null) return 1;
    return result.missingKey === null ? 0 : 2;
  } catch (error) {
    complain(`atrium: ${(error as Error).message}`);
    return 2;
  }
}

/** @throws Error that names the file, when it cannot be read */
async function read<T>(path: string, reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    const problem = code === "ENOENT" ? "does not exist" : `cannot be read (${code ?? "error"})`;
    throw new Error(`The file ${path} ${problem}.`, { cause: error });
  }
}

function parsed(jwks: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(`The key set ${jwks} is not JSON.`, { cause });
  }
}

async function fetched(url: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(FETCH_MS) }).catch((cause: unknown) => {
    throw new Error(`The key set ${url} cannot be fetched`, { cause });
  });
  if (!response.ok) throw new Error(`The key set ${url} returned ${response.status}`);
  return response.text();
}

function describe({ events, purged, outside, problem, missingKey, head }: ProofResult): string {
  if (problem !== null) {
    const where =
      problem.eventId === null
        ? ""
        : `event ${problem.eventId}${problem.sequence === null ? "" : ` (number ${problem.sequence})`}: `;
    return `NOT VALID: ${where}${problem.message}`;
  }
  if (missingKey !== null)
    return (
      `NOT VERIFIED: the events fit each other, but the key set has no key ${missingKey}, which their signature ` +
      "names. Without it, nothing shows that the service wrote them."
    );
  if (head === null) return "EMPTY: the export has no events and no signature, so that it proves nothing.";
  const left = [purged > 0 ? `${purged} purged` : "", outside > 0 ? `${outside} outside its times` : ""].filter(
    (text) => text !== "",
  );
  const links = left.length === 0 ? "" : `, links of ${left.join(" and ")}`;
  const signature = `signed by key ${head.kid} at ${head.at}`;
  return `Valid: ${events} events${links}, up to number ${head.sequence}, ${signature}.`;
}
