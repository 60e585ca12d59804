import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { StartError } from "../../platform/start-error.ts";

/** A free port on 127.0.0.1: `wanted` when it is free, else one that the system chooses. */
async function freePort(wanted = 0): Promise<number> {
  const port = await tryListen(wanted);
  return port ?? (await tryListen(0)) ?? Promise.reject(new Error("127.0.0.1 has no free port"));
}

function tryListen(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(null));
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : null));
    });
  });
}

/** The port that a server of this data folder used last time, if it is free; else a new one, which is stored. */
export async function rememberedPort(folder: string, name: string): Promise<number> {
  const file = join(folder, `${name}.port`);
  const last = Number(readIfThere(file));
  const port = await freePort(Number.isInteger(last) && last > 0 && last < 65_536 ? last : 0);
  if (port !== last) writeFileSync(file, `${port}\n`);
  return port;
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return "";
  }
}

/**
 * Checks that a server can listen on the port; port 0 always passes.
 * @param setting the setting that names the port.
 * @throws StartError when it cannot.
 */
export async function assertPortFree(host: string, port: number, setting: string): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      reject(new StartError(reasonOf(error, host, port, setting), error));
    });
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve()));
  });
}

function reasonOf({ code, syscall }: NodeJS.ErrnoException, host: string, port: number, setting: string): string {
  if (code === "EADDRINUSE") return `Port ${port} on ${host} is in use; stop what uses it, or set ${setting}.`;
  return syscall?.startsWith("getaddrinfo") === true
    ? `The host ${host} is unknown (${code ?? "error"}); set SERVICE_HOST to an address of this machine.`
    : `Cannot listen on ${host}:${port} (${code ?? "error"}); set SERVICE_HOST and ${setting}.`;
}
