/**
 * Ed25519 verifications by `node:crypto`: asked `{seconds}`, reports how many one thread runs of tokens as TOKEN.
 */
import { generateKeyPairSync, sign, verify } from "node:crypto";

const token = process.env["TOKEN"] ?? "";
const data = Buffer.from(token.slice(0, token.lastIndexOf(".")), "ascii");
const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const signature = sign(null, data, privateKey);

process.on("disconnect", () => process.exit(0));
process.on("message", ({ seconds }: { seconds: number }) => {
  const started = performance.now();
  const end = started + seconds * 1000;
  let completed = 0;
  while (performance.now() < end) {
    if (!verify(null, data, publicKey, signature)) throw new Error("a right signature was refused");
    completed++;
  }
  const took = (performance.now() - started) / 1000;
  process.send?.({ result: { completed, seconds: took, perSecond: completed / took } });
});
process.send?.({ ready: {} });
