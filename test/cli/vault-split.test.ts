import { randomBytes } from "node:crypto";
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
  ["no key", {}, /^atrium: SERVICE_MASTER_KEY is not set; set it to/],
  ["a key of 31 bytes", { SERVICE_MASTER_KEY: randomBytes(31).toString("base64") }, /^atrium: .* base64 of 32 bytes/],
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
  [["vault"], "vault takes split, seal, unseal or status"],
  [["vault", "open"], "vault takes split, seal, unseal or status"],
  [["vault", "unseal", masterKey], "never from an argument"],
  [["vault", "seal"], "vault seal needs --url and --token-file"],
  [["vault", "status", "--url", "http://localhost"], "vault status needs --token-file"],
  [["vault", "split", "--url", "http://localhost"], "vault split takes no --url"],
  [["serve", "--url", "http://localhost"], "Unknown role serve"],
])("the command line %j is refused with a message", async (args, message) => {
  const { code, err } = await runCommand(args);
  expect(code).toBe(1);
  expect(err).toContain(message);
  expect(err).not.toContain(masterKey);
});

it("vault --help explains its commands", async () => {
  const { code, out } = await runCommand(["vault", "--help"]);
  expect(code).toBe(0);
  for (const word of ["split", "seal", "unseal", "status", "--url", "--token-file", "SERVICE_MASTER_KEY"])
    expect(out).toContain(word);
});
