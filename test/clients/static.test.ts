import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { goEnvironment, goTools, pythonTools } from "../contract/clients/tools.ts";
import { root } from "../contract/run.ts";

const [python, go] = [pythonTools(), goTools()];

function outcome(program: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = process.env) {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, env, encoding: "utf8" });
  return { status, output: `${stdout}${stderr}` };
}

it.skipIf(python.missing !== undefined)("mypy --strict has no complaint about the Python client and its stubs", () => {
  const cache = mkdtempSync(join(tmpdir(), "atrium-mypy-"));
  const env = { ...process.env, MYPYPATH: join(root, "gen/python") };
  const args = ["--strict", "--cache-dir", cache, "-p", "atrium_client", "-p", "atrium"];
  const { status, output } = outcome(join(python.found ?? "", "mypy"), args, join(root, "src/clients/python"), env);
  rmSync(cache, { recursive: true });
  expect(output).toMatch(/^Success: /u);
  expect(status).toBe(0);
});

it.skipIf(go.missing !== undefined)("gofmt and go vet have no complaint about the Go client", () => {
  const folders = ["./src/clients/go", "./test/clients/go"];
  expect(outcome("gofmt", ["-l", ...folders], root, goEnvironment)).toEqual({ status: 0, output: "" });
  expect(outcome("go", ["vet", ...folders], root, goEnvironment)).toEqual({ status: 0, output: "" });
});

const staticcheck = process.env["STATICCHECK"];
it.skipIf(go.missing !== undefined || staticcheck === undefined)(
  "staticcheck has no complaint about the Go client",
  () => {
    const folders = ["./src/clients/go", "./test/clients/go"];
    expect(outcome(staticcheck ?? "", folders, root, goEnvironment)).toEqual({ status: 0, output: "" });
  },
);
