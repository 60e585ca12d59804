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
import { systemRandom } from "../../platform/random.ts";
import { StartError } from "../../platform/start-error.ts";

/**
 * Creates the data folder when it is missing, and checks that it is writable. When root creates it, others may enter
 * but not list it: PostgreSQL, which refuses to run as root, runs in it under another account.
 * @returns its absolute path.
 * @throws StartError when it cannot be used.
 */
export function openDataFolder(path: string): string {
  const folder = resolve(path);
  try {
    if (!existsSync(folder)) {
      createFolder(folder);
      chmodSync(folder, process.getuid?.() === 0 ? 0o711 : 0o700);
    }
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new StartError(
      `The data folder ${folder} cannot be written (${(error as NodeJS.ErrnoException).code ?? "error"}); ` +
        "change its permissions, or set SERVICE_DATA_DIR to another folder.",
      error,
    );
  }
  return realpathSync(folder);
}

/** As `mkdir -p`. Node's `recursive` never ends where the system refuses a folder with ENOENT, as in /proc. */
function createFolder(folder: string): void {
  if (!existsSync(dirname(folder))) createFolder(dirname(folder));
  if (!existsSync(folder)) mkdirSync(folder);
}

/**
 * A secret that is generated at the first start and kept in the data folder, readable by its owner only. It is kept in
 * base64, as settings take it; folders of former versions have it in the alphabet for URLs, which is read too.
 * @param name file name in `<folder>/secrets`.
 * @param bytes number of random bytes.
 * @throws StartError when the stored secret is damaged.
 */
export function loadOrCreateSecret(folder: string, name: string, bytes: number): Buffer {
  const text = loadOrCreate(folder, name, () => systemRandom.bytes(bytes).toString("base64"));
  const secret = Buffer.from(text.value, "base64");
  if (secret.length !== bytes)
    throw new StartError(
      `The secret ${join(folder, "secrets", name)} is damaged; ` +
        "restore it from a backup of the folder, or start with an empty folder.",
    );
  return secret;
}

/** As `loadOrCreateSecret`, but as text that a person can type. `isNew` is true when this call generated it. */
export function loadOrCreatePassword(folder: string, name: string): { password: string; isNew: boolean } {
  const { value, isNew } = loadOrCreate(folder, name, () => systemRandom.bytes(15).toString("base64url"));
  return { password: value, isNew };
}

function loadOrCreate(folder: string, name: string, create: () => string): { value: string; isNew: boolean } {
  const file = join(folder, "secrets", name);
  try {
    return { value: readFileSync(file, "utf8").trim(), isNew: false };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT")
      throw new StartError(
        `The secret ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? "error"}); ` +
          "change its permissions.",
        error,
      );
  }
  mkdirSync(join(folder, "secrets"), { recursive: true, mode: 0o700 });
  // Written to another file and linked: a crash leaves the whole secret or none, and of two processes one wins.
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, `${create()}\n`, { mode: 0o600, flush: true });
  let isNew = true;
  try {
    linkSync(temporary, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    isNew = false;
  } finally {
    rmSync(temporary, { force: true });
  }
  return { value: readFileSync(file, "utf8").trim(), isNew };
}
