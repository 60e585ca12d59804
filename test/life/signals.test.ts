import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { NODE_COMPILE_CACHE, processesOn, testFolder } from "../support/program.ts";

/** Runs a command that starts the program with embedded servers; it leads a process group, as in a terminal. */
async function run(command: string, args: readonly string[], env: Record<string, string> = {}) {
  const folder = testFolder();
  const child = spawn(command, args, {
    cwd: join(import.meta.dirname, "../.."),
    env: {
      PATH: process.env["PATH"],
      HOME: homedir(),
      NODE_COMPILE_CACHE,
      PORT: "0",
      SERVICE_CONSOLE: "off",
      SERVICE_DATA_DIR: folder.path,
      ...env,
    },
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  // Rejects when the command cannot be started.
  await once(child, "spawn");
  const pid = child.pid as number;
  onTestFinished(() => {
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // Ended already.
    }
    folder.remove();
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (part: string) => {
    output += part;
  });
  // Of the command and of everything that writes to its output.
  const closed = once(child, "close");
  return { pid, folder: folder.path, output: () => output, closed };
}

test.each([
  ["SIGQUIT to npm and the program (Ctrl-\\)", "SIGQUIT", "group"],
  ["SIGHUP that ends npm alone", "SIGHUP", "npm"],
] as const)("%s stops the embedded servers in order", async (_title, signal, receiver) => {
  const { pid, folder, output, closed } = await run("npm", ["start"]);
  await expect.poll(output).toContain("Ready on");
  process.kill(receiver === "group" ? -pid : pid, signal);
  await expect.poll(output).toMatch(/Stopping\nStopped\n$/u);
  // npm has no handler of these signals.
  expect(await closed).toEqual([null, signal]);
  expect(processesOn(folder)).toEqual([]);
});

test("npm that ends while packages are installed stops the program that starts afterwards", async () => {
  const { path, remove } = testFolder();
  onTestFinished(remove);
  // In the place of npm's Node, which installs: it goes on when the shell in the place of npm has ended.
  const [install, installing] = [join(path, "install"), join(path, "installing")];
  writeFileSync(install, `#!/bin/sh\n: > ${installing}\nsleep 1\nexec node "$@"\n`, { mode: 0o700 });
  const npm = `sh src/launch/run.sh start & until [ -e ${installing} ]; do sleep 0.05; done`;
  const env = { npm_lifecycle_event: "start", npm_node_execpath: install };
  const { folder, closed } = await run("sh", ["-c", npm], env);
  expect(await closed).toEqual([0, null]);
  expect(processesOn(folder)).toEqual([]);
});
