import { spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { StartError } from "../../platform/start-error.ts";

/** The account PostgreSQL runs under: it refuses to run as root. */
export interface Account {
  uid: number;
  gid: number;
}

/**
 * How to run a program under an account: `wrap` adds a command that switches to it; `account` is passed to spawn.
 */
export interface RunAs {
  wrap(program: string, args: string[]): { command: string; args: string[] };
  account: Account | undefined;
}

/**
 * Chooses the account that runs PostgreSQL. An ordinary user runs it under their own account. For root, it is the
 * owner of the data (when that is not root), else the account `postgres`, else `nobody`. When that account cannot reach
 * the programs or the data, because a parent folder is closed to others, `setpriv` (util-linux) grants it
 * CAP_DAC_OVERRIDE; access() honours the capability only with the securebit.
 * @param data folder of the database; it need not exist yet.
 * @param paths paths that the account must be able to reach.
 * @throws StartError when no account can run it.
 */
export function runAs(data: string, paths: string[]): RunAs {
  if (process.getuid?.() !== 0) return { wrap: (command, args) => ({ command, args }), account: undefined };
  const account = ownerOf(data) ?? namedAccount("postgres") ?? namedAccount("nobody");
  if (account === undefined)
    throw new StartError(
      "PostgreSQL cannot run as root, and there is no account named postgres or nobody; " +
        "start Atrium as an ordinary user, or set DATABASE_URL.",
    );
  if (reaches(paths, [], account)) return { wrap: (command, args) => ({ command, args }), account };
  const withCapability = [
    "setpriv",
    `--reuid=${account.uid}`,
    `--regid=${account.gid}`,
    "--clear-groups",
    "--inh-caps=+dac_override",
    "--ambient-caps=+dac_override",
    "--securebits=+no_setuid_fixup",
  ];
  if (reaches(paths, withCapability, undefined)) {
    return {
      wrap: (program, args) => ({
        command: withCapability[0] as string,
        args: [...withCapability.slice(1), program, ...args],
      }),
      account: undefined,
    };
  }
  throw new StartError(
    `PostgreSQL cannot run as root, and the account with uid ${account.uid} cannot reach ${paths.join(" and ")}; ` +
      "start Atrium as an ordinary user, move it to a folder that others may enter, or set DATABASE_URL.",
  );
}

/** The account that is to own PostgreSQL's files; undefined when it is the current one. */
export function accountFor(data: string): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  return ownerOf(data) ?? namedAccount("postgres") ?? namedAccount("nobody");
}

function ownerOf(path: string): Account | undefined {
  try {
    const { uid, gid } = statSync(path);
    return uid === 0 ? undefined : { uid, gid };
  } catch {
    return undefined;
  }
}

function namedAccount(name: string): Account | undefined {
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((entry) => entry.startsWith(`${name}:`));
  const [, , uid, gid] = line?.split(":") ?? [];
  return uid === undefined || gid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
}

function reaches(paths: string[], before: string[], account: Account | undefined): boolean {
  const script = 'for path; do test -x "$path" || exit 1; done';
  const [command, ...args] = [...before, "sh", "-c", script, "sh", ...paths];
  return spawnSync(command as string, args, { cwd: "/", stdio: "ignore", ...account }).status === 0;
}
