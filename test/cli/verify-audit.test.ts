import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { NODE_COMPILE_CACHE } from "../support/program.ts";
import { runCommand } from "./run-command.ts";

const folder = mkdtempSync(join(tmpdir(), "atrium-verify-audit-"));
const empty = join(folder, "empty.ndjson");
const keys = join(folder, "jwks.json");
writeFileSync(empty, "");
writeFileSync(keys, '{"keys":[]}');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it.each([
  ["an export that does not exist", "/none.ndjson", keys, "The file /none.ndjson does not exist."],
  ["a folder as export", folder, keys, `The file ${folder} cannot be read (EISDIR).`],
  ["a key set that does not exist", empty, "/none.json", "The file /none.json does not exist."],
  ["a folder as key set", empty, folder, `The file ${folder} cannot be read (EISDIR).`],
  ["a key set that is empty", empty, empty, `The key set ${empty} is not JSON.`],
])("verify-audit with %s names the file on one line and exits 2", async (_what, file, jwks, message) => {
  const { code, out, err } = await runCommand(["verify-audit", file, "--jwks", jwks]);
  expect({ code, out, err }).toEqual({ code: 2, out: "", err: `atrium: ${message}\n` });
});

it.each([
  ["a verified export", ["verify-audit", empty, "--jwks", keys], 0],
  ["an export that cannot be verified", ["verify-audit", "/none.ndjson", "--jwks", keys], 2],
  ["the help", ["--help"], 0],
])("a command keeps its exit code where nobody reads its output: %s", async (_what, args, exitCode) => {
  const child = spawn(process.execPath, ["src/main.ts", ...args], {
    cwd: join(import.meta.dirname, "../.."),
    env: { PATH: process.env["PATH"] ?? "", NODE_COMPILE_CACHE },
    stdio: "pipe",
  });
  child.stdout.destroy();
  child.stderr.destroy();
  const [code] = (await once(child, "exit")) as [number | null];
  expect(code).toBe(exitCode);
});
