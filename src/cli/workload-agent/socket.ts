import { randomBytes } from "node:crypto";
import { closeSync, linkSync, lstatSync, openSync, rmSync } from "node:fs";
import type { BigIntStats } from "node:fs";
import { connect } from "node:net";
import type { Server as NetServer } from "node:net";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CommandError } from "../output.ts";

/** Its owner and its group may connect, and nobody else: whoever connects receives the identity. */
const UMASK = 0o117;
/** Attempts to take the path, and the wait between two while another agent replaces a stale socket. */
const ATTEMPTS = 40;
const RETRY_MS = 50;

/**
 * Listens on a Unix socket that others than owner and group can never open. Replaces a stale socket. Of agents
 * that start at the same time exactly one listens.
 * @returns removes the socket from its path, where it is still this server's
 * @throws {CommandError} when the path cannot be used, or another agent listens there
 */
export async function listenOn(server: NetServer, path: string): Promise<() => void> {
  try {
    await refuseUsed(path);
    // A socket refuses connections between bind and listen, as a stale one does, so it gets its path afterwards.
    const hidden = hiddenBeside(path);
    await listen(server, hidden);
    const own = statOf(hidden);
    try {
      await take(path, hidden);
    } catch (error) {
      server.close();
      throw error;
    } finally {
      rmSync(hidden, { force: true });
    }
    return () => {
      if (isSame(statOf(path), own)) rmSync(path, { force: true });
    };
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

/** A name that nobody uses; as long as the path, so that a path that clients cannot use is refused at once. */
function hiddenBeside(path: string): string {
  const name = `.${randomBytes(3).toString("base64url")}`;
  return join(dirname(path), name.padEnd(Buffer.byteLength(basename(path)), "-"));
}

/** Gives a listening socket its path, which fails where there is one already. */
async function take(path: string, hidden: string): Promise<void> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const stale = await refuseUsed(path);
    if ((stale === undefined || removeStale(path, stale)) && isCreated(() => linkSync(hidden, path))) return;
    await sleep(RETRY_MS);
  }
  throw new CommandError(`Another agent is about to listen on ${path}; when none runs, remove that socket.`);
}

/**
 * Returns the stale socket at a path; undefined when the path is free.
 * @throws {CommandError} when another agent listens there, or the path is no socket
 */
async function refuseUsed(path: string): Promise<BigIntStats | undefined> {
  const found = statOf(path);
  if (found === undefined) return undefined;
  if (!found.isSocket()) throw new CommandError(`${path} exists and is not a socket; choose another --socket.`);
  if (await answers(path))
    throw new CommandError(`Another agent listens on ${path}; stop it, or choose another --socket.`);
  return found;
}

/**
 * Removes a stale socket. Only the agent that created a file named after its inode removes it: otherwise one agent
 * could remove the socket by which another has replaced it.
 * @returns whether it is gone
 */
function removeStale(path: string, stale: BigIntStats): boolean {
  const claim = `${path}.${stale.ino}-${stale.mtimeNs}`;
  if (!isCreated(() => closeSync(openSync(claim, "wx")))) return false;
  try {
    if (isSame(statOf(path), stale)) rmSync(path, { force: true });
    return true;
  } finally {
    rmSync(claim, { force: true });
  }
}

/** Whether a file was created; false where it exists. */
function isCreated(create: () => void): boolean {
  try {
    create();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

const statOf = (path: string): BigIntStats | undefined => lstatSync(path, { bigint: true, throwIfNoEntry: false });

/** Whether two stats are of the same file: the inode of a removed file may be used again, with another time. */
const isSame = (one: BigIntStats | undefined, other: BigIntStats | undefined): boolean =>
  one?.dev === other?.dev && one?.ino === other?.ino && one?.mtimeNs === other?.mtimeNs;

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
        const { code = "" } = error;
        // EAGAIN: more clients wait than the queue of the socket holds.
        if (["ECONNREFUSED", "ENOENT", "EAGAIN"].includes(code)) resolve(code === "EAGAIN");
        else reject(error);
      });
    socket.once("connect", () => socket.destroy());
  });
}
