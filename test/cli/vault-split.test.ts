import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { combine } from "shamir-secret-sharing";
import { expect, it } from "vitest";
import { runCommand } from "./run-command.ts";

const key = randomBytes(32);
const masterKey = key.toString("base64");

it("vault split prints 5 shares of the master key, and any 3 of them restore it", async () => {
  const { code, out, err } = await runCommand(["vault", "split"], { SERVICE_MASTER_KEY: masterKey });
  expect(code).toBe(0);
  const shares = out.trimEnd().split("\n");
  expect(shares).toHaveLength(5);
  for (const share of shares) expect(share).toMatch(/^[A-Za-z0-9+/]{44}$/u);
  expect(err).toContain("any 3 of them unseal the vault");
  const bytes = shares.map((share) => new Uint8Array(Buffer.from(share, "base64")));
  const points = bytes.map((share) => share.at(-1));
  expect(new Set(points).size).toBe(5);
  expect(points).not.toContain(0);
  for (let a = 0; a < 5; a++)
    for (let b = a + 1; b < 5; b++) {
      expect(Buffer.from(await combine([bytes[a]!, bytes[b]!]))).not.toEqual(key);
      for (let c = b + 1; c < 5; c++)
        expect(Buffer.from(await combine([bytes[a]!, bytes[b]!, bytes[c]!]))).toEqual(key);
    }
});

it.each([
  [
    "in the alphabet of URLs, without padding",
    (text: string) => text.replace("=", "").replaceAll("+", "-").replaceAll("/", "_"),
  ],
  ["without padding", (text: string) => text.replace("=", "")],
  ["with a line break after it", (text: string) => `${text}\n`],
])("vault split takes a key %s, as the service does", async (_form, write) => {
  const bytes = Buffer.alloc(32, 0xfb);
  const { code, out } = await runCommand(["vault", "split"], { SERVICE_MASTER_KEY: write(bytes.toString("base64")) });
  expect(code).toBe(0);
  const shares = out.split("\n").slice(0, 3);
  expect(Buffer.from(await combine(shares.map((share) => new Uint8Array(Buffer.from(share, "base64")))))).toEqual(
    bytes,
  );
});

it("vault split takes the key from the file that SERVICE_MASTER_KEY_FILE names", async () => {
  const folder = mkdtempSync(join(tmpdir(), "atrium-split-"));
  const file = join(folder, "master-key");
  writeFileSync(file, `${masterKey}\n`);
  const { code, out } = await runCommand(["vault", "split"], { SERVICE_MASTER_KEY_FILE: file });
  rmSync(folder, { recursive: true });
  expect(code).toBe(0);
  const shares = out.split("\n").slice(0, 3);
  expect(Buffer.from(await combine(shares.map((share) => new Uint8Array(Buffer.from(share, "base64")))))).toEqual(key);
});

it.each([
  ["no key", {}, /^atrium: SERVICE_MASTER_KEY is not set; set it to/],
  ["a key of 31 bytes", { SERVICE_MASTER_KEY: randomBytes(31).toString("base64") }, /^atrium: .* base64 of 32 bytes/],
  ["a file that does not exist", { SERVICE_MASTER_KEY_FILE: "/none" }, /^atrium: .* \/none cannot be read \(ENOENT\)/],
  ["text that is no base64", { SERVICE_MASTER_KEY: `${masterKey.slice(1)}*` }, /^atrium: .* base64 of 32 bytes/],
])("vault split with %s prints one line and exits 2", async (_what, env: Record<string, string>, message) => {
  const { code, out, err } = await runCommand(["vault", "split"], env);
  expect(code).toBe(2);
  expect(out).toBe("");
  expect(err).toMatch(message);
  expect(err.trimEnd().split("\n")).toHaveLength(1);
  expect(err).not.toContain(env["SERVICE_MASTER_KEY"] ?? "-");
});

it.each([
  [["vault"], 2, "vault takes split, seal, unseal or status"],
  [["vault", "open"], 2, "vault takes split, seal, unseal or status"],
  [["vault", "unseal", masterKey], 2, "never from an argument"],
  [["vault", "seal"], 2, "vault seal needs --url and --token-file"],
  [["vault", "status", "--url", "http://localhost"], 2, "vault status needs --token-file"],
  [["--url", "http://localhost", "vault", "status", "--nope"], 2, "Unknown option '--nope'"],
  [["vault", "split", "--url", "http://localhost"], 2, "vault split takes no --url"],
  [["verify-audit"], 2, "verify-audit takes one FILE"],
  [["workload-agent"], 2, "workload-agent needs --server"],
  [["serve", "--url", "http://localhost"], 1, "atrium: serve takes no --url; see --help."],
  [["serve", "now"], 1, "atrium: serve takes no argument; see --help."],
  [["valt", "unseal", masterKey], 1, "atrium: Unknown role valt; the roles are all, serve, "],
  [["migrat", "--help"], 1, "atrium: Unknown role migrat; the roles are all, serve, "],
])("the command line %j is refused with exit code %d and a message", async (args, exitCode, message) => {
  const { code, err } = await runCommand(args);
  expect(code).toBe(exitCode);
  expect(err).toContain(message);
  expect(err).not.toContain(masterKey);
});

it("vault --help explains its commands", async () => {
  const { code, out } = await runCommand(["vault", "--help"]);
  expect(code).toBe(0);
  for (const word of ["split", "seal", "unseal", "status", "--url", "--token-file", "SERVICE_MASTER_KEY"])
    expect(out).toContain(word);
});
