/**
 * The helper process of password.ts. It hashes on its own thread pool at a low priority, so that many sign-ins do not
 * slow down the rest of the service.
 */
import { setPriority } from "node:os";
import type { HashReply, HashRequest } from "./password-pool.ts";

// Before the first use of the thread pool: on Linux its threads inherit the priority of the thread that starts them.
setPriority(Number(process.argv[2] ?? "0"));
// The service ends the helper: Ctrl-C signals the whole process group, but sign-ins in flight still finish.
process.on("SIGINT", () => undefined);
process.on("SIGTERM", () => undefined);
process.on("disconnect", () => process.exit(0));

const { argon2id, hash, verify } = await import("argon2");

process.on("message", (request: HashRequest) => void answer(request));
reply({ id: 0, ready: true });

async function answer(request: HashRequest): Promise<void> {
  try {
    if (request.digest === undefined)
      reply({ id: request.id, digest: await hash(request.password, { type: argon2id, ...request.cost }) });
    else reply({ id: request.id, ok: await verify(request.digest, request.password) });
  } catch (cause) {
    reply({ id: request.id, error: cause instanceof Error ? cause.message : String(cause) });
  }
}

function reply(message: HashReply): void {
  if (process.connected) process.send?.(message, () => undefined);
}
