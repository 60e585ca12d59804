import { execFile } from "node:child_process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../support/postgres.ts";
import { runProgram, testFolder } from "../support/program.ts";
import type { ProgramRun } from "../support/program.ts";
import { shellOf } from "../support/document-blocks.ts";

const root = new URL("../..", import.meta.url).pathname;
const folder = testFolder();
let port: string;
let mtlsPort: string;
let run: ProgramRun;
beforeAll(async () => {
  [port, mtlsPort] = [String(await freePort()), String(await freePort())];
  run = runProgram("src/main.ts", [], { SERVICE_DATA_DIR: folder.path, PORT: port, SERVICE_MTLS_PORT: mtlsPort });
  await run.until(/Ready on/);
});
afterAll(async () => {
  process.kill(run.pid, "SIGTERM");
  await run.exit;
  folder.remove();
});

/** Runs commands as a reader who copies them does; the first failure, refused calls included, ends them. */
function runCommands(commands: string): Promise<{ status: number; output: string }> {
  const strict =
    'set -euo pipefail\ncurl() { command curl --fail-with-body "$@"; echo; }\nkill() { command kill "$@" || true; }';
  const script = `${strict}\n${commands}`;
  const env = { ...process.env, SERVICE_DATA_DIR: folder.path, PORT: port, SERVICE_MTLS_PORT: mtlsPort };
  return new Promise((resolve) => {
    execFile("bash", ["-c", script], { cwd: root, env, maxBuffer: 16 * 1024 * 1024 }, (error, stdout, stderr) => {
      resolve({ status: error === null ? 0 : Number(error.code), output: `${stdout}${stderr}` });
    });
  });
}

test("every command of README's five minutes, of the tours, of SSO and of SCIM works as it stands", async () => {
  const tours = [
    shellOf("README.md", "Five minutes"),
    shellOf("docs/tour-vault.md"),
    shellOf("docs/tour-identity.md"),
    shellOf("docs/tour-sessions.md"),
    shellOf("docs/tour-webhooks.md"),
    shellOf("docs/tour-trust.md"),
    shellOf("docs/oidc.md"),
    shellOf("docs/scim.md"),
  ];
  const { status, output } = await runCommands(tours.join("\n"));
  expect(status, output).toBe(0);
  expect(output).toContain('"org_name":"Acme"');
  expect(output).toContain('"orgName": "Acme"');
  expect(output).toContain('"value":"third"');
  expect(output).toContain('"sealed":false');
  expect(output).toMatch(/"revoked":\d/);
  expect(output).toMatch(/"principal":\{"type":"svid"/);
  expect(output).toMatch(/webhook\.test/);
  expect(output).toMatch(/"status":"delivered"/);
  expect(output).toMatch(/valid/i);
  expect(output).toMatch(/"name":"discovery"/);
  expect(output).toMatch(/"name":"okta"/);
});
