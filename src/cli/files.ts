import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { CommandError } from "./output.ts";

/** Text of a file, looked up in several folders. @throws {CommandError} when none has it, or it cannot be read */
async function readText(path: string, folders: readonly string[]): Promise<string> {
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

/** A certificate; without the last line where its text was cut off. */
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*(?:-----END CERTIFICATE-----)?/gu;

/**
 * The certificates in a file, PEM. Each is read here: TLS leaves out what it cannot read.
 * @throws {CommandError} when there is none, or one cannot be read
 */
export async function readCertificates(path: string, folders: readonly string[]): Promise<string> {
  const certificates = (await readText(path, folders)).match(CERTIFICATE);
  if (certificates === null) throw new CommandError(`${path} has no certificate (PEM).`);
  try {
    for (const one of certificates) new X509Certificate(one);
  } catch {
    throw new CommandError(`${path} has a certificate that cannot be read.`);
  }
  return certificates.join("\n");
}
