import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Every file under a folder with its text. */
function files(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  return Object.fromEntries(names.sort().map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

test("the generated code matches the test protos", () => {
  const out = mkdtempSync(join(tmpdir(), "transcoding-gen-"));
  try {
    const bin = join(root, "node_modules/.bin");
    const args = [
      "generate",
      "test/transcoding/proto",
      "--template",
      "test/transcoding/buf.gen.yaml",
      "--config",
      "test/transcoding/buf.yaml",
      "-o",
      out,
    ];
    execFileSync(join(bin, "buf"), args, {
      cwd: root,
      env: { ...process.env, PATH: `${bin}:${process.env["PATH"] ?? ""}` },
    });
    expect(files(join(root, "test/transcoding/gen"))).toEqual(files(join(out, "test/transcoding/gen")));
  } finally {
    rmSync(out, { recursive: true });
  }
});
