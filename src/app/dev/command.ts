import { spawn } from "node:child_process";
import type { Account } from "./account.ts";
import { signalProcess } from "./processes.ts";

/** How to run a command. */
export interface CommandOptions {
  cwd: string;
  /** The whole environment, or `inherit` for that of this process. */
  env: Record<string, string> | "inherit";
  /** Additional variables. */
  more?: Record<string, string>;
  /** Another account to run it under; root only. */
  account?: Account | undefined;
  /** Ends the command and its children when it fires. */
  signal?: AbortSignal | undefined;
}

/**
 * Runs a command to its end. `error` is undefined on success, else the reason in one line; `said` is the end of its
 * standard error.
 */
export function runCommand(
  command: string,
  args: string[],
  options: CommandOptions,
): Promise<{ error: string | undefined; said: string }> {
  return new Promise((resolve) => {
    // In its own process group, so that its children can be ended with it. Without `env`, a child inherits ours.
    const env = options.env === "inherit" ? undefined : options.env;
    const [program, all] =
      options.env === "inherit" && options.more !== undefined
        ? ["env", [...Object.entries(options.more).map(([name, value]) => `${name}=${value}`), command, ...args]]
        : [command, args];
    const child = spawn(program, all, {
      cwd: options.cwd,
      env: env && { ...env, ...options.more },
      detached: true,
      stdio: ["ignore", "ignore", "pipe"],
      ...options.account,
    });
    const kill = () => {
      if (child.pid !== undefined) signalProcess(-child.pid, "SIGTERM");
    };
    options.signal?.addEventListener("abort", kill, { once: true });
    if (options.signal?.aborted === true) kill();
    let tail = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      tail = (tail + text).slice(-2000);
    });
    const finish = (error: string | undefined) => {
      options.signal?.removeEventListener("abort", kill);
      resolve({ error, said: tail.trim() });
    };
    child.once("error", (error) => finish(error.message));
    child.once("close", (code, signal) =>
      finish(code === 0 ? undefined : tail.trim().split("\n").at(-1) || `${signal ?? `exit code ${String(code)}`}`),
    );
  });
}
