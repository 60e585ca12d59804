import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Random } from "../../platform/random.ts";
import { systemRandom } from "../../platform/random.ts";
import { StartError } from "../../platform/start-error.ts";

/**
 * Makes the data folder when it is missing and proves that it can be written.
 * It may be entered but not listed by others: PostgreSQL, which refuses to run as root, lives in it under another
 * account.
 * @returns its absolute path.
 * @throws StartError one line when it cannot be used.
 */
export function openDataFolder(path: string): string {
  const folder = resolve(path);
  try {
    if (!existsSync(folder)) {
      makeFolder(folder);
      chmodSync(folder, process.getuid?.() === 0 ? 0o711 : 0o700);
    }
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new StartError(
      `The data folder ${folder} cannot be written (${(error as NodeJS.ErrnoException).code ?? "error"}); change its permissions or set SERVICE_DATA_DIR to another folder.`,
      error,
    );
  }
  return realpathSync(folder);
}

/** As `mkdir -p`. Node's own recursion never ends where the system refuses a new folder with ENOENT, as in /proc. */
function makeFolder(folder: string): void {
  if (!existsSync(dirname(folder))) makeFolder(dirname(folder));
  if (!existsSync(folder)) mkdirSync(folder);
}

/**
 * A secret made at the first start and kept in the data folder, readable by its owner only.
 * @param name file name inside `<folder>/secrets`.
 * @param bytes how many random bytes it has.
 * @throws StartError when the stored one is damaged.
 */
export function loadOrCreateSecret(folder: string, name: string, bytes: number, random: Random = systemRandom): Buffer {
  const text = keepOnce(folder, name, () => random.bytes(bytes).toString("base64url"));
  const secret = Buffer.from(text.value, "base64url");
  if (secret.length !== bytes)
    throw new StartError(
      `The secret ${join(folder, "secrets", name)} is damaged: put it back from a copy of the folder, or begin with an empty one.`,
    );
  return secret;
}

/** As `loadOrCreateSecret`, as text a person can type; `isNew` tells that it was made by this call. */
export function loadOrCreatePassword(
  folder: string,
  name: string,
  random: Random = systemRandom,
): { password: string; isNew: boolean } {
  const { value, isNew } = keepOnce(folder, name, () => random.bytes(15).toString("base64url"));
  return { password: value, isNew };
}

function keepOnce(folder: string, name: string, make: () => string): { value: string; isNew: boolean } {
  const file = join(folder, "secrets", name);
  try {
    return { value: readFileSync(file, "utf8").trim(), isNew: false };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT")
      throw new StartError(
        `The secret ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? "error"}).`,
        error,
      );
  }
  mkdirSync(join(folder, "secrets"), { recursive: true, mode: 0o700 });
  // Written aside and linked: a crash leaves the whole secret or none, and of two processes one wins.
  const aside = `${file}.${process.pid}`;
  writeFileSync(aside, `${make()}\n`, { mode: 0o600, flush: true });
  let isNew = true;
  try {
    linkSync(aside, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    isNew = false;
  } finally {
    rmSync(aside, { force: true });
  }
  return { value: readFileSync(file, "utf8").trim(), isNew };
}
