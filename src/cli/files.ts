import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { CommandError } from "./output.ts";

/** Text of a file, looked up in several folders. @throws {CommandError} when none has it, or it cannot be read */
export async function readText(path: string, folders: readonly string[]): Promise<string> {
  for (const folder of folders) {
    try {
      return await readFile(resolve(folder, path), "utf8");
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "ENOENT") throw new CommandError(`The file ${path} cannot be read (${code ?? "error"}).`);
    }
  }
  throw new CommandError(`The file ${path} does not exist.`);
}

/** The token in a file, without white space around it. @throws {CommandError} when there is none */
export async function readToken(path: string, folders: readonly string[]): Promise<string> {
  const token = (await readText(path, folders)).trim();
  if (!/^[\x21-\x7e]+$/u.test(token)) throw new CommandError(`The file ${path} must have one token, and nothing else.`);
  return token;
}
