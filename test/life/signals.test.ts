import { spawn } from "node:child_process";
import { once } from "node:events";
import { homedir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { NODE_COMPILE_CACHE, processesOn, testFolder } from "../support/program.ts";

/** Runs `npm start` with embedded servers until it is ready; npm leads a process group, as in a terminal. */
async function startByNpm() {
  const folder = testFolder();
  const child = spawn("npm", ["start"], {
    cwd: join(import.meta.dirname, "../.."),
    env: {
      PATH: process.env["PATH"],
      HOME: homedir(),
      NODE_COMPILE_CACHE,
      PORT: "0",
      SERVICE_CONSOLE: "off",
      SERVICE_DATA_DIR: folder.path,
    },
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  // Rejects when npm cannot be started.
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
  // Of npm and of everything that writes to its output.
  const closed = once(child, "close");
  await expect.poll(() => output).toContain("Ready on");
  return { pid, folder: folder.path, output: () => output, closed };
}

test.each([
  ["SIGQUIT to npm and the program (Ctrl-\\)", "SIGQUIT", "group"],
  ["SIGHUP that ends npm alone", "SIGHUP", "npm"],
] as const)("%s stops the embedded servers in order", async (_title, signal, receiver) => {
  const { pid, folder, output, closed } = await startByNpm();
  process.kill(receiver === "group" ? -pid : pid, signal);
  await expect.poll(output).toMatch(/Stopping\nStopped\n$/u);
  // npm has no handler of these signals.
  expect(await closed).toEqual([null, signal]);
  expect(processesOn(folder)).toEqual([]);
});
