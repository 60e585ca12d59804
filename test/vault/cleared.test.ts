import { Decipheriv } from "node:crypto";
import { split } from "shamir-secret-sharing";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { systemRandom } from "../../src/platform/random.ts";
import { authorityOf } from "../mtls-ca/support.ts";
import { issue, workloads } from "../spiffe/support.ts";
import type { Workloads } from "../spiffe/support.ts";
import { MASTER_KEY, startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { outcome } from "../support/people.ts";
import { sealOf, secretsOf } from "./support.ts";

/** Length of the vault's keys, bytes. What is shorter is no secret, such as the check of a master key. */
const KEY_BYTES = 32;
const value = "swordfish".repeat(4);
/** How PKCS #8 of a P-256 key begins. */
const PKCS8 = Buffer.from("308187020100301306072a8648ce3d020106082a8648ce3d030107", "hex");

/**
 * Buffers of the program, noted while they hold a secret: keys it generates, what it decrypts, keys it prints, and what
 * operators enter, with the key that their shares make.
 */
const noted = {
  generated: [] as Buffer[],
  decrypted: [] as Buffer[],
  printed: [] as Buffer[],
  entered: [] as Buffer[],
};
/** What operators enter, as text. */
const entries = new Set<unknown>();
const forget = (): void => Object.values(noted).forEach((buffers) => buffers.splice(0));
/** How many buffers of each kind were noted, and how many of them still hold something. */
const kept = () =>
  Object.fromEntries(
    Object.entries(noted).map(([kind, buffers]) => [
      kind,
      { any: buffers.length > 0, kept: buffers.filter((bytes) => bytes.some((byte) => byte !== 0)).length },
    ]),
  );
const cleared = { any: true, kept: 0 };

const random = {
  ...systemRandom,
  bytes(length: number): Buffer {
    const bytes = systemRandom.bytes(length);
    if (length === KEY_BYTES) noted.generated.push(bytes);
    return bytes;
  },
};

let app: TestApp;
/** An instance without a master key in its settings. */
let bare: TestApp;
let owner: Workloads;
beforeAll(async () => {
  const decrypt = Reflect.get(Decipheriv.prototype, "update") as (...args: unknown[]) => Buffer;
  vi.spyOn(Decipheriv.prototype, "update").mockImplementation(function (this: Decipheriv, ...args: unknown[]) {
    const plain = decrypt.apply(this, args);
    if (plain.length >= KEY_BYTES) noted.decrypted.push(plain);
    return plain as never;
  });
  const print = Reflect.get(Buffer.prototype, "toString") as (...args: unknown[]) => string;
  vi.spyOn(Buffer.prototype, "toString").mockImplementation(function (this: Buffer, ...args: unknown[]) {
    if (args[0] === "base64" && this.subarray(0, PKCS8.length).equals(PKCS8)) noted.printed.push(this);
    return print.apply(this, args);
  });
  const read = Reflect.get(Buffer, "from") as (...args: unknown[]) => Buffer;
  vi.spyOn(Buffer, "from").mockImplementation((...args: unknown[]) => {
    const bytes = read.apply(Buffer, args);
    const isCombined = args[0] instanceof ArrayBuffer && bytes.equals(MASTER_KEY);
    if (isCombined || entries.has(args[0])) noted.entered.push(bytes);
    return bytes as never;
  });
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" }, random });
  bare = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock, sealedVault: true, random });
  owner = await workloads(app);
});
afterAll(async () => {
  vi.restoreAllMocks();
  await bare.close();
  await app.close();
});

test("no generated key and nothing decrypted outlives a request that writes, reads or rotates", async () => {
  const secrets = secretsOf(app, owner);
  const rotate = `/api/admin/organizations/${owner.org}/kms-keys/rotate`;
  forget();
  expect((await secrets.put("kept", value)).status).toBe(200);
  expect((await secrets.get("kept")).body.value).toBe(value);
  expect(outcome(await app.call("POST", rotate, { token: owner.elevated }))).toBe("200");
  expect((await secrets.get("kept", 1)).body.value).toBe(value);
  expect(kept()).toMatchObject({ generated: cleared, decrypted: cleared });
});

test("no printed or decrypted private key outlives the request that issues a certificate or an SVID", async () => {
  const who = await workloads(app);
  const ca = authorityOf(app, who);
  forget();
  expect((await ca.create()).status).toBe(201);
  const certificate = (await ca.issue()).body;
  const svid = (await issue(app, who)).body;
  for (const pem of [certificate.private_key, svid.private_key_pem]) expect(pem).toContain("PRIVATE KEY");
  expect(noted.printed.length).toBeGreaterThan(1);
  expect(kept()).toMatchObject({ decrypted: cleared, printed: cleared });
});

test("nothing decrypted or entered outlives an unsealing by shares, and the decrypted master key not the sealing", async () => {
  const secrets = secretsOf(bare, owner);
  await secrets.put("sealed", value);
  const seal = await sealOf(bare);
  const shares = (await split(new Uint8Array(MASTER_KEY), 3, 3)).map((share) => Buffer.from(share).toString("base64"));
  for (const share of shares) entries.add(share);
  await seal.seal();
  forget();
  for (const share of shares) await seal.unseal({ share });
  expect(noted.entered.map(({ length }) => length)).toEqual([33, 33, 33, KEY_BYTES]);
  expect(kept()).toMatchObject({ decrypted: cleared, entered: cleared });
  expect((await secrets.get("kept")).body.value).toBe(value);
  // Shares and key came from the operators: the instance holds the key while the vault is unsealed.
  expect(kept()).toMatchObject({ decrypted: { kept: 1 } });
  await seal.seal();
  expect((await seal.status()).body.sealed).toBe(true);
  expect(kept()).toMatchObject({ decrypted: cleared });
});
