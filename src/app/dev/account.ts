import { spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { StartError } from "../../platform/start-error.ts";

/** The account PostgreSQL runs under; it refuses to be root. */
export interface Account {
  uid: number;
  gid: number;
}

/**
 * How to run a program under an account: command and arguments to put before it, and what spawn is to switch itself.
 */
export interface RunAs {
  wrap(program: string, args: string[]): { command: string; args: string[] };
  account: Account | undefined;
}

/**
 * Decides how PostgreSQL is run. An ordinary user runs it as themselves. For root it is the owner of the
 * data (when that is not root), else the account `postgres`, else `nobody`. When that account cannot reach
 * the programs or the data, because a folder above is closed to others, `setpriv` (util-linux) lends it the
 * one capability to pass through; access() must honour it too, hence the securebit.
 * @param data folder of the database; need not exist yet.
 * @param paths what the account must be able to reach, folders above the data included.
 * @throws StartError when no way is left.
 */
export function runAs(data: string, paths: string[]): RunAs {
  if (process.getuid?.() !== 0) return { wrap: (command, args) => ({ command, args }), account: undefined };
  const account = ownerOf(data) ?? namedAccount("postgres") ?? namedAccount("nobody");
  if (account === undefined)
    throw new StartError(
      "PostgreSQL cannot run as root and there is no account named postgres or nobody; start Atrium as an ordinary user, or set DATABASE_URL.",
    );
  if (reaches(paths, [], account)) return { wrap: (command, args) => ({ command, args }), account };
  const lend = [
    "setpriv",
    `--reuid=${account.uid}`,
    `--regid=${account.gid}`,
    "--clear-groups",
    "--inh-caps=+dac_override",
    "--ambient-caps=+dac_override",
    "--securebits=+no_setuid_fixup",
  ];
  if (reaches(paths, lend, undefined)) {
    return {
      wrap: (program, args) => ({ command: lend[0] as string, args: [...lend.slice(1), program, ...args] }),
      account: undefined,
    };
  }
  throw new StartError(
    `PostgreSQL cannot run as root, and the account with uid ${account.uid} cannot reach ${paths.join(" and ")}; start Atrium as an ordinary user, move it to a folder others may enter, or set DATABASE_URL.`,
  );
}

/** The account itself, for giving it a folder. Undefined when it is our own. */
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
