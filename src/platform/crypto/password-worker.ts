/**
 * The helper process of password.ts. It hashes on its own thread pool at a low priority, so that many sign-ins do not
 * slow down the rest of the service.
 */
import { serveJobs } from "../helper/serve.ts";
import type { HashJob, HashResult } from "./password-pool.ts";

await serveJobs<HashJob, HashResult>(async () => {
  const { argon2id, hash, verify } = await import("argon2");
  return async (job) =>
    job.digest === undefined
      ? { digest: await hash(job.password, { type: argon2id, ...job.cost }) }
      : { ok: await verify(job.digest, job.password) };
});
