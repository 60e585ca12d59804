import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StartError } from "../../platform/start-error.ts";

/** A lock on a folder, held until it is released or the process ends. */
export interface FolderLock {
  release(): void;
}

/**
 * Takes the folder's lock, or returns null when another process (or this one) holds it. It is a file lock of the
 * kernel, taken through SQLite because Node has none: it ends with the process, and does not depend on process ids.
 * @throws StartError when the folder cannot be written.
 */
export function tryLock(folder: string): FolderLock | null {
  let file: DatabaseSync | undefined;
  try {
    file = new DatabaseSync(join(folder, "lock.db"));
    file.exec("PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE");
  } catch (error) {
    file?.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return null;
    throw new StartError(
      `The folder ${folder} cannot be written (${(error as Error).message}); change its permissions.`,
      error,
    );
  }
  const taken = file;
  held.add(taken);
  return {
    release() {
      if (held.delete(taken)) taken.close();
    },
  };
}

/** References to the open handles: garbage collection would close a handle and release its lock. */
const held = new Set<DatabaseSync>();

const SQLITE_BUSY = 5;

/**
 * Locks the data folder for this process.
 * @throws StartError when the folder is in use; the message names the process that holds it.
 */
export function lockDataFolder(folder: string): FolderLock {
  const lock = tryLock(folder);
  const holder = join(folder, "lock.pid");
  if (lock === null) {
    throw new StartError(
      `The data folder ${folder} is in use by another Atrium${processOf(holder)}; ` +
        "stop it, or set SERVICE_DATA_DIR to another folder.",
    );
  }
  writeFileSync(holder, `${process.pid}\n`);
  return lock;
}

function processOf(file: string): string {
  try {
    return ` (process ${readFileSync(file, "utf8").trim()})`;
  } catch {
    return "";
  }
}
