import { spawn } from "node:child_process";
import { signalProcess } from "./processes.ts";

/** How a command is run. */
export interface CommandOptions {
  cwd: string;
  /** The whole environment, or `inherit`. */
  env: Record<string, string> | "inherit";
  /** Variables on top of it. */
  more?: Record<string, string>;
  /** Ends the command, and all it started, when it fires. */
  signal?: AbortSignal | undefined;
}

/** Runs a command to its end. `error` is undefined when it went well, else one line about why not. */
export function runCommand(
  command: string,
  args: string[],
  options: CommandOptions,
): Promise<{ error: string | undefined }> {
  return new Promise((resolve) => {
    // In a group of its own, so that what it starts can be ended with it. Without `env` a child inherits ours.
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
      resolve({ error });
    };
    child.once("error", (error) => finish(error.message));
    child.once("close", (code, signal) =>
      finish(code === 0 ? undefined : tail.trim().split("\n").at(-1) || `${signal ?? `exit code ${String(code)}`}`),
    );
  });
}
