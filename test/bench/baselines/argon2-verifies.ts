/**
 * Bare argon2id verifies: asked `{seconds}`, keeps as many in flight as its thread pool has threads; reports how many
 * it did.
 */
import { argon2id, hash, verify } from "argon2";

const inFlight = Number(process.env["UV_THREADPOOL_SIZE"] ?? "4");
const digest = await hash("correct horse battery staple", {
  type: argon2id,
  ...(JSON.parse(process.env["COST"] ?? "{}") as object),
});

process.on("disconnect", () => process.exit(0));
process.on("message", ({ seconds }: { seconds: number }) => void run(seconds));
process.send?.({ ready: {} });

async function run(seconds: number): Promise<void> {
  const started = performance.now();
  const end = started + seconds * 1000;
  let completed = 0;
  const worker = async (): Promise<void> => {
    while (performance.now() < end) {
      if (!(await verify(digest, "correct horse battery staple"))) throw new Error("a right password was refused");
      completed++;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  const took = (performance.now() - started) / 1000;
  process.send?.({ result: { completed, seconds: took, perSecond: completed / took } });
}
