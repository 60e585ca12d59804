import { execFile } from "node:child_process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../support/postgres.ts";
import { runProgram, testFolder } from "../support/program.ts";
import type { ProgramRun } from "../support/program.ts";
import { shellOf } from "../support/readme-blocks.ts";

const root = new URL("../..", import.meta.url).pathname;
const folder = testFolder();
let port: string;
let run: ProgramRun;
beforeAll(async () => {
  port = String(await freePort());
  run = runProgram("src/main.ts", [], { SERVICE_DATA_DIR: folder.path, PORT: port });
  await run.until(/Ready on/);
});
afterAll(async () => {
  process.kill(run.pid, "SIGTERM");
  await run.exit;
  folder.remove();
});

/** Runs commands as a reader does who copies them; the first that fails, refused calls included, ends them. */
function follow(commands: string): Promise<{ status: number; said: string }> {
  const strict =
    'set -euo pipefail\ncurl() { command curl --fail-with-body "$@"; echo; }\nkill() { command kill "$@" || true; }';
  const script = `${strict}\n${commands}`;
  const env = { ...process.env, SERVICE_DATA_DIR: folder.path, PORT: port };
  return new Promise((resolve) => {
    execFile("bash", ["-c", script], { cwd: root, env, maxBuffer: 16 * 1024 * 1024 }, (error, stdout, stderr) => {
      resolve({ status: error === null ? 0 : Number(error.code), said: `${stdout}${stderr}` });
    });
  });
}

test("every command of the README's tours works as it stands", async () => {
  const sections = ["Five minutes", "A tour of identity", "Webhooks and how to verify them"];
  const { status, said } = await follow(sections.map(shellOf).join("\n"));
  expect(status, said).toBe(0);
  expect(said).toContain('"org_name":"Acme"');
  expect(said).toContain('"orgName": "Acme"');
  expect(said).toMatch(/"revoked":\d/);
  expect(said).toMatch(/webhook\.test/);
  expect(said).toMatch(/"status":"delivered"/);
  expect(said).toMatch(/valid/i);
});
