/** Temporal's development server with the UI that comes with it; everything is kept in memory. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findTemporalProgram } from "../../../src/app/dev/temporal-program.ts";
import { freePort } from "../../support/postgres.ts";

const program = await findTemporalProgram({
  path: process.env["PATH"],
  cacheHome: process.env["XDG_CACHE_HOME"],
  log: (line) => console.log(line),
});
const home = mkdtempSync(join(tmpdir(), "atrium-temporal-ui-"));
const [port, uiPort] = [await freePort(), await freePort()];
const args = ["server", "start-dev", "--ip", "127.0.0.1", "--port", String(port), "--ui-port", String(uiPort)];
const server = spawn(program, [...args, "--log-level", "error"], { stdio: "ignore", env: { HOME: home } });
process.on("disconnect", () => {
  server.once("exit", () => {
    rmSync(home, { recursive: true, force: true });
    process.exit(0);
  });
  server.kill();
});
const url = `http://127.0.0.1:${uiPort}`;
while (
  !(await fetch(url).then(
    ({ ok }) => ok,
    () => false,
  ))
)
  await sleep(100);
process.send?.({ ready: { url } });
