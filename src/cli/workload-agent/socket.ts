import { lstatSync, rmSync } from "node:fs";
import { connect } from "node:net";
import type { Server as NetServer } from "node:net";
import { CommandError } from "../output.ts";

/** Its owner and its group may connect, and nobody else: whoever connects receives the identity. */
const UMASK = 0o117;

/**
 * Listens on a Unix socket that others than owner and group can never open. Replaces a socket that an agent left.
 * @throws {CommandError} when the path cannot be used, or another agent listens there
 */
export async function listenOn(server: NetServer, path: string): Promise<void> {
  try {
    await removeLeft(path);
    await listen(server, path);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new CommandError(`The socket ${path} cannot be created (${code ?? "error"}); check --socket and its folder.`);
  }
}

async function listen(server: NetServer, path: string): Promise<void> {
  const before = process.umask(UMASK);
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject).listen(path, resolve);
    });
  } finally {
    process.umask(before);
  }
}

async function removeLeft(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) throw new CommandError(`${path} exists and is not a socket; choose another --socket.`);
  if (await answers(path))
    throw new CommandError(`Another agent listens on ${path}; stop it, or choose another --socket.`);
  rmSync(path, { force: true });
}

/**
 * Whether somebody listens on a socket.
 * @throws {Error} when that cannot be found out, as for the socket of another user
 */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket
      .once("connect", () => resolve(true))
      .once("error", (error: NodeJS.ErrnoException) => {
        if (error.code === "ECONNREFUSED" || error.code === "ENOENT") resolve(false);
        else reject(error);
      });
    socket.once("connect", () => socket.destroy());
  });
}
